// Asks an Interface Repository about an interface, and prints what it says; with omniORB's own stubs.
//
//   describe REPOSITORY_URL REPOSITORY_ID
#include <iostream>

// Or else the header has no stubs for the repository.
#define ENABLE_CLIENT_IR_SUPPORT
#include <omniORB4/CORBA.h>

static void print(CORBA::TypeCode_ptr type) {
    switch (type->kind()) {
    case CORBA::tk_struct:
    case CORBA::tk_union:
    case CORBA::tk_except:
        std::cout << type->id() << " {";
        for (CORBA::ULong i = 0; i < type->member_count(); ++i) std::cout << " " << type->member_name(i);
        std::cout << " }";
        break;
    case CORBA::tk_alias:
    case CORBA::tk_enum:
    case CORBA::tk_objref:
        std::cout << type->id();
        break;
    default:
        std::cout << "kind " << type->kind();
    }
}

int main(int argc, char** argv) {
    try {
        CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
        CORBA::Object_var object = orb->string_to_object(argv[1]);
        CORBA::Repository_var repository = CORBA::Repository::_narrow(object);
        CORBA::Contained_var found = repository->lookup_id(argv[2]);
        CORBA::InterfaceDef_var interface = CORBA::InterfaceDef::_narrow(found);
        if (CORBA::is_nil(interface)) {
            std::cout << "no interface\n";
            return 1;
        }
        CORBA::InterfaceDef::FullInterfaceDescription_var all = interface->describe_interface();
        CORBA::String_var absolute = interface->absolute_name();
        std::cout << "interface " << absolute << " version " << all->version << " in " << all->defined_in << "\n";
        for (CORBA::ULong i = 0; i < all->base_interfaces.length(); ++i)
            std::cout << "base " << all->base_interfaces[i] << "\n";
        for (CORBA::ULong i = 0; i < all->attributes.length(); ++i) {
            std::cout << "attribute " << all->attributes[i].name << " mode " << all->attributes[i].mode << ": ";
            print(all->attributes[i].type);
            std::cout << "\n";
        }
        for (CORBA::ULong i = 0; i < all->operations.length(); ++i) {
            const CORBA::OperationDescription& operation = all->operations[i];
            std::cout << "operation " << operation.name << " mode " << operation.mode << ": ";
            print(operation.result);
            std::cout << "\n";
            for (CORBA::ULong j = 0; j < operation.parameters.length(); ++j) {
                std::cout << "  parameter " << operation.parameters[j].name << " mode " << operation.parameters[j].mode
                          << ": ";
                print(operation.parameters[j].type);
                std::cout << "\n";
            }
            for (CORBA::ULong j = 0; j < operation.exceptions.length(); ++j) {
                std::cout << "  raises ";
                print(operation.exceptions[j].type);
                std::cout << "\n";
            }
        }
        try {
            found->destroy();
            std::cout << "destroyed\n";
        } catch (const CORBA::BAD_INV_ORDER& refused) {
            std::cout << "destroy refused\n";
        }
        try {
            CORBA::ModuleDef_var made = repository->create_module("IDL:m:1.0", "m", "1.0");
            std::cout << "created\n";
        } catch (const CORBA::NO_IMPLEMENT& refused) {
            std::cout << "create refused\n";
        }
        orb->destroy();
        return 0;
    } catch (const CORBA::SystemException& exception) {
        std::cout << exception._name() << " minor " << exception.minor() << "\n";
        return 1;
    }
}
