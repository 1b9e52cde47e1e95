package peers;

import InteropAsync.AMI_WorkerHandler;
import InteropAsync.AMI_WorkerHandlerHelper;
import InteropAsync.Office;
import InteropAsync.OfficeHelper;
import InteropAsync.Parcel;
import InteropAsync.ParcelHolder;
import InteropAsync.Refused;
import InteropAsync.Worker;
import InteropAsync._WorkerStub;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jacorb.orb.ExceptionHolderImpl;
import org.omg.CORBA.CompletionStatus;
import org.omg.CORBA.DoubleHolder;
import org.omg.CORBA.NO_PERMISSION;
import org.omg.CORBA.NO_RESOURCES;
import org.omg.CORBA.ORB;
import org.omg.PortableServer.POA;

/** Checks of asynchronous calls, and of servants that reply later: see interop_async.idl. */
final class AsyncChecks {
    private AsyncChecks() {}

    static void all(Interop.Suite suite, ORB orb, POA poa) throws Exception {
        Office office = OfficeHelper.narrow(suite.extras("async"));
        Worker o = office.find_worker();
        Client.check("later_results", () -> Client.same("result", 84, work(o, 0, 42)));
        Client.check("later_order", () -> {
            AtomicInteger slow = new AtomicInteger();
            AtomicLong ended = new AtomicLong();
            Thread waits = new Thread(() -> {
                try {
                    slow.set(work(o, 1000, 1));
                } catch (Exception e) {
                    slow.set(-1);
                }
                ended.set(System.nanoTime());
            });
            waits.start();
            Thread.sleep(100);
            Client.same("quick", 4, work(o, 0, 2));
            long quick = System.nanoTime();
            waits.join();
            Client.same("slow", 2, slow.get());
            Client.holds(quick < ended.get(), "the quick answer before the slow one");
        });
        Client.check("later_user_exception", () -> {
            try {
                work(o, 5, -3);
            } catch (Refused e) {
                Client.same("why", "negative", e.why);
                Client.same("limit", -3, e.limit);
                return;
            }
            throw new Client.Failure("expected Refused");
        });
        Client.check("later_system_exception", () -> {
            try {
                work(o, 5, 0);
            } catch (NO_PERMISSION e) {
                Client.same("minor", 7, e.minor);
                Client.same("completed", 1, e.completed.value());
                return;
            }
            throw new Client.Failure("expected NO_PERMISSION");
        });
        Client.check("later_attributes", () -> {
            o.level(5);
            Client.same("level", 5, o.level());
            try {
                o.broken();
            } catch (NO_RESOURCES e) {
                Client.same("minor", 5, e.minor);
                Client.same("completed", 0, e.completed.value());
                return;
            }
            throw new Client.Failure("expected NO_RESOURCES");
        });
        callbacks((_WorkerStub) o, poa);
        // JacORB's own exception holder, read as another ORB's handler reads it.
        Client.check("async_exception_holder", () -> {
            AMI_WorkerHandler handler = AMI_WorkerHandlerHelper.unchecked_narrow(office.make_handler());
            office.told();
            org.jacorb.orb.ORB jacorb = (org.jacorb.orb.ORB) orb;
            NO_PERMISSION refused = new NO_PERMISSION("no", 7, CompletionStatus.COMPLETED_NO);
            handler.work_excep(new ExceptionHolderImpl(jacorb, refused));
            handler.work(84, new Parcel("crate!", 3.5), 21);
            Client.same("told", "work_excep NO_PERMISSION 7 1\nwork 84 crate! 3 21\n", office.told());
        });
    }

    /** Checks calls with a handler in this process, the only kind that JacORB supports. */
    private static void callbacks(_WorkerStub o, POA poa) throws Exception {
        AsyncServants.Handler servant = new AsyncServants.Handler();
        AMI_WorkerHandler handler = AMI_WorkerHandlerHelper.unchecked_narrow(poa.servant_to_reference(servant));
        Parcel crate = new Parcel("crate", 2.5);
        Client.check("async_callback", () -> {
            o.sendc_work(handler, 0, 42, crate);
            Client.same("told", "work 84 crate! 3 21\n", told(servant));
        });
        Client.check("async_callback_user_exception", () -> {
            o.sendc_work(handler, 5, -3, crate);
            Client.same("told", "work_excep Refused negative -3\n", told(servant));
        });
        Client.check("async_callback_system_exception", () -> {
            o.sendc_work(handler, 5, 0, crate);
            Client.same("told", "work_excep NO_PERMISSION 7 1\n", told(servant));
        });
        Client.check("async_callback_attributes", () -> {
            o.sendc_set_level(handler, 9);
            Client.same("told", "set_level\n", told(servant));
            o.sendc_get_level(handler);
            Client.same("told", "get_level 9\n", told(servant));
            o.sendc_get_broken(handler);
            Client.same("told", "get_broken_excep NO_RESOURCES 5 0\n", told(servant));
        });
    }

    /** Returns the next call of the handler. */
    private static String told(AsyncServants.Handler servant) throws InterruptedException {
        for (int i = 0; i < 1000; i++) {
            String told = servant.taken();
            if (!told.isEmpty()) return told;
            Thread.sleep(5);
        }
        return "";
    }

    private static int work(Worker o, int milliseconds, int value) throws Exception {
        ParcelHolder what = new ParcelHolder(new Parcel("crate", 2.5));
        DoubleHolder half = new DoubleHolder();
        int result = o.work(milliseconds, value, what, half);
        Client.same("label", "crate!", what.value.label);
        Client.same("weight", 3.5, what.value.weight);
        Client.same("half", value / 2.0, half.value);
        return result;
    }
}
