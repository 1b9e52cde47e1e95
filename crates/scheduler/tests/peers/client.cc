// omniORB's client of the scheduling service, with stubs made of the same IDL: prints what it is told.
//
//   client SCHEDULER_URL
#include <iostream>

#include "RtecScheduler.hh"

using namespace RtecScheduler;

static void print(const RT_Info& it) {
    std::cout << "info " << it.entry_point << " " << it.handle << " " << it.worst_case_execution_time << " "
              << it.typical_execution_time << " " << it.cached_execution_time << " " << it.period << " "
              << it.criticality << " " << it.importance << " " << it.quantum << " " << it.threads << " "
              << it.priority << " " << it.preemption_subpriority << " " << it.preemption_priority << " "
              << it.info_type << " " << it.enabled << " " << it.volatile_token << "\n";
    for (CORBA::ULong i = 0; i < it.dependencies.length(); ++i) {
        const Dependency_Info& one = it.dependencies[i];
        std::cout << "  depends " << one.dependency_type << " " << one.number_of_calls << " " << one.rt_info << " "
                  << one.rt_info_depended_on << " " << one.enabled << "\n";
    }
}

static void print(const Config_Info_Set& configs) {
    for (CORBA::ULong i = 0; i < configs.length(); ++i) {
        std::cout << "queue " << configs[i].preemption_priority << " " << configs[i].thread_priority << " "
                  << configs[i].dispatching_type << " periods";
        for (CORBA::ULong j = 0; j < configs[i].timer_periods.length(); ++j)
            std::cout << " " << configs[i].timer_periods[j];
        std::cout << "\n";
    }
}

static void print(const Scheduling_Anomaly_Set& anomalies) {
    for (CORBA::ULong i = 0; i < anomalies.length(); ++i)
        std::cout << "anomaly " << anomalies[i].severity << " " << anomalies[i].description << "\n";
}

template <class Call>
static void raises(const char* what, Call call) {
    try {
        call();
        std::cout << what << " raised nothing\n";
    } catch (const CORBA::UserException& raised) {
        std::cout << what << " raised " << raised._rep_id() << "\n";
    } catch (const CORBA::SystemException& raised) {
        std::cout << what << " raised " << raised._name() << "\n";
    }
}

int main(int argc, char** argv) {
    try {
        CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
        CORBA::Object_var object = orb->string_to_object(argv[1]);
        Scheduler_var scheduler = Scheduler::_narrow(object);
        if (CORBA::is_nil(scheduler)) {
            std::cout << "no scheduler\n";
            return 1;
        }
        handle_t sample = scheduler->create("nav::Sensor::sample");
        handle_t filter = scheduler->create("nav::Filter::update");
        handle_t tile = scheduler->create("nav::Map::tile");
        raises("create", [&] { scheduler->create("nav::Map::tile"); });
        raises("lookup", [&] { scheduler->lookup("nobody"); });
        raises("get", [&] { scheduler->get(99); });
        std::cout << "lookup " << scheduler->lookup("nav::Filter::update") << "\n";
        scheduler->set(sample, VERY_HIGH_CRITICALITY, 40000, 30000, 0, 500000, MEDIUM_IMPORTANCE, 5, 1, OPERATION);
        RT_Info_Set said;
        said.length(2);
        said[0].handle = filter;
        said[0].worst_case_execution_time = 60000;
        said[0].typical_execution_time = 50000;
        said[0].cached_execution_time = 0;
        said[0].period = 0;
        said[0].criticality = HIGH_CRITICALITY;
        said[0].importance = LOW_IMPORTANCE;
        said[0].quantum = 0;
        said[0].threads = 0;
        said[0].priority = said[0].preemption_subpriority = said[0].preemption_priority = 0;
        said[0].info_type = OPERATION;
        said[0].enabled = RT_INFO_ENABLED;
        said[0].volatile_token = 0;
        said[1] = said[0];
        said[1].handle = tile;
        said[1].cached_execution_time = 1234567890123ULL;
        scheduler->set_seq(said);
        said.length(1);
        said[0].handle = tile;
        said[0].cached_execution_time = 10000;
        scheduler->reset_seq(said);
        scheduler->add_dependency(filter, sample, 1, RtecBase::ONE_WAY_CALL);
        scheduler->add_dependency(filter, tile, 3, RtecBase::TWO_WAY_CALL);
        scheduler->add_dependency(filter, tile, 4, RtecBase::TWO_WAY_CALL);
        scheduler->remove_dependency(filter, tile, 4, RtecBase::TWO_WAY_CALL);
        scheduler->set_dependency_enable_state(filter, tile, 3, RtecBase::TWO_WAY_CALL,
                                               RtecBase::DEPENDENCY_NON_VOLATILE);
        scheduler->set_rt_info_enable_state(tile, RT_INFO_NON_VOLATILE);
        raises("remove_dependency", [&] { scheduler->remove_dependency(filter, tile, 9, RtecBase::TWO_WAY_CALL); });
        OS_Priority os;
        Preemption_Subpriority_t sub;
        Preemption_Priority_t level;
        Dispatching_Type_t type;
        raises("priority", [&] { scheduler->priority(sample, os, sub, level); });
        raises("last_scheduled_priority", [&] { scheduler->last_scheduled_priority(); });
        RT_Info_Set_var infos;
        Dependency_Set_var dependencies;
        Config_Info_Set_var configs;
        Scheduling_Anomaly_Set_var anomalies;
        scheduler->compute_scheduling(1, 99, infos, dependencies, configs, anomalies);
        for (CORBA::ULong i = 0; i < infos->length(); ++i) print(infos[i]);
        std::cout << "dependencies " << dependencies->length() << "\n";
        print(configs.in());
        print(anomalies.in());
        scheduler->priority(sample, os, sub, level);
        std::cout << "priority " << os << " " << sub << " " << level << "\n";
        scheduler->entry_point_priority("nav::Filter::update", os, sub, level);
        std::cout << "entry_point_priority " << os << " " << sub << " " << level << "\n";
        scheduler->dispatch_configuration(0, os, type);
        std::cout << "dispatch_configuration " << os << " " << type << "\n";
        std::cout << "last_scheduled_priority " << scheduler->last_scheduled_priority() << "\n";
        raises("dispatch_configuration", [&] { scheduler->dispatch_configuration(7, os, type); });
        raises("set", [&] {
            scheduler->set(sample, HIGH_CRITICALITY, 1, 1, 1, -5, LOW_IMPORTANCE, 0, 1, OPERATION);
        });
        raises("add_dependency", [&] { scheduler->add_dependency(sample, 99, 1, RtecBase::TWO_WAY_CALL); });
        handle_t lost = scheduler->create("lost");
        scheduler->recompute_scheduling(1, 99, anomalies);
        print(anomalies.in());
        raises("priority", [&] { scheduler->priority(lost, os, sub, level); });
        scheduler->set(lost, HIGH_CRITICALITY, 200, 0, 0, 100, LOW_IMPORTANCE, 0, 1, OPERATION);
        raises("recompute_scheduling", [&] { scheduler->recompute_scheduling(1, 99, anomalies); });
        scheduler->get_rt_info_set(infos);
        scheduler->get_dependency_set(dependencies);
        std::cout << "holds " << infos->length() << " " << dependencies->length() << "\n";
        orb->destroy();
        return 0;
    } catch (const CORBA::Exception& exception) {
        std::cout << exception._name() << "\n";
        return 1;
    }
}
