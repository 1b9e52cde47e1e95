package peers;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;

/** Values as text, in which checks compare and print them. */
final class Show {
    private Show() {}

    static String show(Object v) {
        try {
            return text(v);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String text(Object v) throws ReflectiveOperationException {
        if (v == null) return "nil";
        // Compares and prints the bits, so that NaN and negative zero are distinguished.
        if (v instanceof Float f) return "f" + Float.floatToRawIntBits(f);
        if (v instanceof Double d) return "d" + Double.doubleToRawLongBits(d);
        if (v instanceof Boolean || v instanceof Number) return v.toString();
        if (v instanceof Character c) return "'" + (int) c + "'";
        if (v instanceof String s) return '"' + s + '"';
        if (v.getClass().isArray()) return array(v);
        if (v instanceof org.omg.CORBA.Any any) return any(any);
        if (v instanceof org.omg.CORBA.TypeCode type) return type(type);
        if (v instanceof Interop.Node node) return "node " + node.value();
        if (v instanceof org.omg.CORBA.Object object) return "node " + Interop.NodeHelper.narrow(object).value();
        Method discriminator = method(v, "discriminator");
        if (discriminator != null) return union(v, discriminator);
        Method ordinal = method(v, "value");
        if (ordinal != null) return v.getClass().getSimpleName() + " " + ordinal.invoke(v);
        return struct(v);
    }

    private static String any(org.omg.CORBA.Any any) throws ReflectiveOperationException {
        Anys.Content content = Anys.content(any);
        return "any " + type(any.type()) + (content == null ? "" : ' ' + text(content.value()));
    }

    private static String type(org.omg.CORBA.TypeCode type) {
        try {
            return "type " + type.id();
        } catch (org.omg.CORBA.TypeCodePackage.BadKind e) {
            return "type " + type.kind().value();
        }
    }

    private static String array(Object v) throws ReflectiveOperationException {
        StringBuilder out = new StringBuilder(Array.getLength(v) + "[");
        for (int i = 0; i < Array.getLength(v); i++) out.append(text(Array.get(v, i))).append(' ');
        return out.append(']').toString();
    }

    private static String struct(Object v) throws ReflectiveOperationException {
        StringBuilder out = new StringBuilder("{");
        for (Field field : v.getClass().getFields()) {
            if (!Modifier.isStatic(field.getModifiers())) out.append(text(field.get(v))).append(' ');
        }
        return out.append('}').toString();
    }

    /** Prints the discriminator and its member, which is the one whose accessor raises no exception. */
    private static String union(Object v, Method discriminator) throws ReflectiveOperationException {
        StringBuilder out = new StringBuilder(text(discriminator.invoke(v)) + ":");
        Method[] methods = v.getClass().getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (Method member : methods) {
            if (member.getParameterCount() != 0 || member.equals(discriminator) || member.getReturnType() == void.class) continue;
            try {
                Object selected = member.invoke(v);
                out.append(member.getName()).append(' ').append(text(selected));
            } catch (InvocationTargetException e) {
                if (!(e.getCause() instanceof org.omg.CORBA.BAD_OPERATION)) throw e;
            }
        }
        return out.toString();
    }

    private static Method method(Object v, String name) {
        try {
            return v.getClass().getMethod(name);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }
}
