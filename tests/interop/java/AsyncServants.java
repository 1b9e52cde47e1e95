package peers;

import InteropAsync.AMI_WorkerHandlerPOA;
import InteropAsync.OfficePOA;
import InteropAsync.Parcel;
import InteropAsync.ParcelHolder;
import InteropAsync.Refused;
import InteropAsync.Worker;
import InteropAsync.WorkerHelper;
import InteropAsync.WorkerPOA;
import org.jacorb.orb.ExceptionHolderImpl;
import org.omg.CORBA.CompletionStatus;
import org.omg.CORBA.DoubleHolder;
import org.omg.CORBA.NO_PERMISSION;
import org.omg.CORBA.NO_RESOURCES;
import org.omg.CORBA.ORB;
import org.omg.CORBA.SystemException;
import org.omg.Messaging.ExceptionHolder;

/** The servants for interop_async.idl. */
final class AsyncServants {
    private AsyncServants() {}

    /** Registers the types; JacORB makes exception holders only for types that it has received. */
    static void known(ORB orb) {
        ((org.omg.CORBA_2_3.ORB) orb).register_value_factory("IDL:omg.org/Messaging/ExceptionHolder:1.0", in -> {
            ExceptionHolderImpl holder = new ExceptionHolderImpl((org.jacorb.orb.ORB) orb);
            holder._read(in);
            return holder;
        });
    }

    static final class WorkerServant extends WorkerPOA {
        private volatile int level;

        public int level() {
            return level;
        }

        public void level(int value) {
            level = value;
        }

        public String broken() {
            throw new NO_RESOURCES(5, CompletionStatus.COMPLETED_YES);
        }

        public int work(int milliseconds, int value, ParcelHolder what, DoubleHolder half) throws Refused {
            try {
                Thread.sleep(milliseconds);
            } catch (InterruptedException e) {
                throw new org.omg.CORBA.INTERNAL();
            }
            if (value < 0) throw new Refused("negative", value);
            if (value == 0) throw new NO_PERMISSION(7, CompletionStatus.COMPLETED_NO);
            what.value = new Parcel(what.value.label + "!", what.value.weight + 1);
            half.value = value / 2.0;
            return 2 * value;
        }
    }

    /** A reply handler that records its calls. */
    static final class Handler extends AMI_WorkerHandlerPOA {
        private final StringBuilder told = new StringBuilder();

        synchronized String taken() {
            String all = told.toString();
            told.setLength(0);
            return all;
        }

        private synchronized void note(String line) {
            told.append(line).append('\n');
        }

        private void failed(String operation, ExceptionHolder holder) {
            try {
                holder.raise_exception();
                note(operation + " nothing");
            } catch (Refused e) {
                note(operation + " Refused " + e.why + " " + e.limit);
            } catch (SystemException e) {
                String name = e.getClass().getSimpleName();
                note(operation + " " + name + " " + e.minor + " " + e.completed.value());
            } catch (org.omg.CORBA.UserException e) {
                note(operation + " " + e);
            }
        }

        public void work(int result, Parcel what, double half) {
            note("work " + result + " " + what.label + " " + (long) what.weight + " " + (long) half);
        }

        public void work_excep(ExceptionHolder holder) {
            failed("work_excep", holder);
        }

        public void _get_level(int result) {
            note("get_level " + result);
        }

        public void _get_level_excep(ExceptionHolder holder) {
            failed("get_level_excep", holder);
        }

        public void _set_level() {
            note("set_level");
        }

        public void _set_level_excep(ExceptionHolder holder) {
            failed("set_level_excep", holder);
        }

        public void _get_broken(String result) {
            note("get_broken " + result);
        }

        public void _get_broken_excep(ExceptionHolder holder) {
            failed("get_broken_excep", holder);
        }
    }

    static final class OfficeServant extends OfficePOA {
        private final Worker worker;
        private final Handler handler = new Handler();
        private final org.omg.CORBA.Object published = Server.activate(handler);

        OfficeServant(ORB orb) {
            known(orb);
            worker = WorkerHelper.narrow(Server.activate(new WorkerServant()));
        }

        public Worker find_worker() {
            return worker;
        }

        public org.omg.CORBA.Object make_handler() {
            return published;
        }

        public String told() {
            return handler.taken();
        }
    }
}
