// JacORB's client of the scheduling service, with stubs made of the same IDL: prints what it is told.
//
//   java Client SCHEDULER_URL
import RtecBase.*;
import RtecScheduler.*;
import org.omg.CORBA.IntHolder;

public class Client {
    interface Call {
        void run() throws Exception;
    }

    static void print(RT_Info it) {
        System.out.println("info " + it.entry_point + " " + it.handle + " " + it.worst_case_execution_time + " "
            + it.typical_execution_time + " " + it.cached_execution_time + " " + it.period + " "
            + it.criticality.value() + " " + it.importance.value() + " " + it.quantum + " " + it.threads + " "
            + it.priority + " " + it.preemption_subpriority + " " + it.preemption_priority + " "
            + it.info_type.value() + " " + it.enabled.value() + " " + it.volatile_token);
        for (Dependency_Info one : it.dependencies)
            System.out.println("  depends " + one.dependency_type.value() + " " + one.number_of_calls + " "
                + one.rt_info + " " + one.rt_info_depended_on + " " + one.enabled.value());
    }

    static void print(Scheduling_Anomaly[] anomalies) {
        for (Scheduling_Anomaly one : anomalies)
            System.out.println("anomaly " + one.severity.value() + " " + one.description);
    }

    static void raises(String what, Call call) {
        try {
            call.run();
            System.out.println(what + " raised nothing");
        } catch (org.omg.CORBA.UserException raised) {
            String name = raised.getClass().getSimpleName();
            System.out.println(what + " raised IDL:RtecScheduler/" + name + ":1.0");
        } catch (org.omg.CORBA.SystemException raised) {
            System.out.println(what + " raised " + raised.getClass().getSimpleName());
        } catch (Exception other) {
            System.out.println(what + " raised " + other);
        }
    }

    static RT_Info said(int handle, long cached) {
        return new RT_Info("", handle, 60000, 50000, cached, 0, Criticality_t.HIGH_CRITICALITY,
            Importance_t.LOW_IMPORTANCE, 0, 0, new Dependency_Info[0], 0, 0, 0, Info_Type_t.OPERATION,
            RT_Info_Enabled_Type_t.RT_INFO_ENABLED, 0);
    }

    public static void main(String[] args) throws Exception {
        org.omg.CORBA.ORB orb = org.omg.CORBA.ORB.init(args, null);
        Scheduler scheduler = SchedulerHelper.narrow(orb.string_to_object(args[0]));
        int sample = scheduler.create("nav::Sensor::sample");
        int filter = scheduler.create("nav::Filter::update");
        int tile = scheduler.create("nav::Map::tile");
        raises("create", () -> scheduler.create("nav::Map::tile"));
        raises("lookup", () -> scheduler.lookup("nobody"));
        raises("get", () -> scheduler.get(99));
        System.out.println("lookup " + scheduler.lookup("nav::Filter::update"));
        scheduler.set(sample, Criticality_t.VERY_HIGH_CRITICALITY, 40000, 30000, 0, 500000,
            Importance_t.MEDIUM_IMPORTANCE, 5, 1, Info_Type_t.OPERATION);
        scheduler.set_seq(new RT_Info[] {said(filter, 0), said(tile, 1234567890123L)});
        scheduler.reset_seq(new RT_Info[] {said(tile, 10000)});
        Dependency_Type_t two = Dependency_Type_t.TWO_WAY_CALL;
        scheduler.add_dependency(filter, sample, 1, Dependency_Type_t.ONE_WAY_CALL);
        scheduler.add_dependency(filter, tile, 3, two);
        scheduler.add_dependency(filter, tile, 4, two);
        scheduler.remove_dependency(filter, tile, 4, two);
        scheduler.set_dependency_enable_state(filter, tile, 3, two,
            Dependency_Enabled_Type_t.DEPENDENCY_NON_VOLATILE);
        scheduler.set_rt_info_enable_state(tile, RT_Info_Enabled_Type_t.RT_INFO_NON_VOLATILE);
        raises("remove_dependency", () -> scheduler.remove_dependency(filter, tile, 9, two));
        IntHolder os = new IntHolder(), sub = new IntHolder(), level = new IntHolder();
        Dispatching_Type_tHolder type = new Dispatching_Type_tHolder();
        raises("priority", () -> scheduler.priority(sample, os, sub, level));
        raises("last_scheduled_priority", () -> scheduler.last_scheduled_priority());
        RT_Info_SetHolder infos = new RT_Info_SetHolder();
        Dependency_SetHolder dependencies = new Dependency_SetHolder();
        Config_Info_SetHolder configs = new Config_Info_SetHolder();
        Scheduling_Anomaly_SetHolder anomalies = new Scheduling_Anomaly_SetHolder();
        scheduler.compute_scheduling(1, 99, infos, dependencies, configs, anomalies);
        for (RT_Info one : infos.value) print(one);
        System.out.println("dependencies " + dependencies.value.length);
        for (Config_Info one : configs.value) {
            System.out.print("queue " + one.preemption_priority + " " + one.thread_priority + " "
                + one.dispatching_type.value() + " periods");
            for (int period : one.timer_periods) System.out.print(" " + period);
            System.out.println();
        }
        print(anomalies.value);
        scheduler.priority(sample, os, sub, level);
        System.out.println("priority " + os.value + " " + sub.value + " " + level.value);
        scheduler.entry_point_priority("nav::Filter::update", os, sub, level);
        System.out.println("entry_point_priority " + os.value + " " + sub.value + " " + level.value);
        scheduler.dispatch_configuration(0, os, type);
        System.out.println("dispatch_configuration " + os.value + " " + type.value.value());
        System.out.println("last_scheduled_priority " + scheduler.last_scheduled_priority());
        raises("dispatch_configuration", () -> scheduler.dispatch_configuration(7, os, type));
        raises("set", () -> scheduler.set(sample, Criticality_t.HIGH_CRITICALITY, 1, 1, 1, -5,
            Importance_t.LOW_IMPORTANCE, 0, 1, Info_Type_t.OPERATION));
        raises("add_dependency", () -> scheduler.add_dependency(sample, 99, 1, two));
        int lost = scheduler.create("lost");
        scheduler.recompute_scheduling(1, 99, anomalies);
        print(anomalies.value);
        raises("priority", () -> scheduler.priority(lost, os, sub, level));
        scheduler.set(lost, Criticality_t.HIGH_CRITICALITY, 200, 0, 0, 100, Importance_t.LOW_IMPORTANCE, 0, 1,
            Info_Type_t.OPERATION);
        raises("recompute_scheduling", () -> scheduler.recompute_scheduling(1, 99, anomalies));
        scheduler.get_rt_info_set(infos);
        scheduler.get_dependency_set(dependencies);
        System.out.println("holds " + infos.value.length + " " + dependencies.value.length);
        orb.destroy();
    }
}
