package peers;

import java.io.Serializable;
import java.rmi.Remote;
import java.rmi.RemoteException;
import javax.rmi.CORBA.Stub;
import javax.rmi.CORBA.Tie;
import javax.rmi.CORBA.UtilDelegate;
import javax.rmi.CORBA.ValueHandler;
import org.omg.CORBA.ORB;
import org.omg.CORBA.SystemException;
import org.omg.CORBA.portable.InputStream;
import org.omg.CORBA.portable.OutputStream;
import org.omg.SendingContext.RunTime;

/**
 * Replacement for javax.rmi, which JacORB uses for a valuetype in a place where its type is not declared. The available
 * javax.rmi needs parts of the JDK that were removed in JDK 9, and that classes declared in IDL do not need.
 */
public final class RmiUtil implements UtilDelegate, ValueHandler {
    private static UnsupportedOperationException rmi() {
        return new UnsupportedOperationException("only classes that IDL declares");
    }

    public ValueHandler createValueHandler() {
        return this;
    }

    public String getCodebase(Class<?> type) {
        return null;
    }

    public Class<?> loadClass(String name, String codebase, ClassLoader loader) throws ClassNotFoundException {
        return Class.forName(name);
    }

    public String getRMIRepositoryID(Class<?> type) {
        return "RMI:" + type.getName() + ":0000000000000000";
    }

    public boolean isCustomMarshaled(Class<?> type) {
        return false;
    }

    public RunTime getRunTimeCodeBase() {
        return null;
    }

    public Serializable writeReplace(Serializable value) {
        return value;
    }

    public void writeValue(OutputStream out, Serializable value) {
        throw rmi();
    }

    public Serializable readValue(InputStream in, int offset, Class<?> type, String id, RunTime sender) {
        throw rmi();
    }

    public RemoteException mapSystemException(SystemException e) {
        throw rmi();
    }

    public void writeAny(OutputStream out, Object value) {
        throw rmi();
    }

    public Object readAny(InputStream in) {
        throw rmi();
    }

    public void writeRemoteObject(OutputStream out, Object value) {
        throw rmi();
    }

    public void writeAbstractObject(OutputStream out, Object value) {
        throw rmi();
    }

    public void registerTarget(Tie tie, Remote target) {
        throw rmi();
    }

    public void unexportObject(Remote target) {
        throw rmi();
    }

    public Tie getTie(Remote target) {
        throw rmi();
    }

    public boolean isLocal(Stub stub) {
        return false;
    }

    public RemoteException wrapException(Throwable e) {
        throw rmi();
    }

    public Object copyObject(Object value, ORB orb) {
        throw rmi();
    }

    public Object[] copyObjects(Object[] values, ORB orb) {
        throw rmi();
    }
}
