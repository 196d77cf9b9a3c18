package weir.probe.api;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** Makes values of the application's types from JSON. */
public final class Values {
    private Values() {}

    /** @throws IllegalArgumentException if the JSON is no such value */
    public static Object make(Object json, Type type) throws ReflectiveOperationException {
        Class<?> raw = raw(type);
        if (raw != Object.class && raw.isAssignableFrom(CompletableFuture.class)) {
            return CompletableFuture.completedFuture(make(json, argument(type, 0)));
        }
        if (json == null || raw == void.class) {
            if (raw.isPrimitive() && raw != void.class) {
                throw new IllegalArgumentException("null is no " + raw);
            }
            return null;
        }
        if (json instanceof Number && (raw.isPrimitive() || Number.class.isAssignableFrom(raw))) {
            return number((Number) json, raw);
        }
        if (raw == boolean.class && json instanceof Boolean || raw == char.class && json.toString().length() == 1) {
            return raw == char.class ? (Object) json.toString().charAt(0) : json;
        }
        if (raw.isEnum()) {
            return raw.getMethod("valueOf", String.class).invoke(null, json.toString());
        }
        if (json instanceof Collection && (raw.isArray() || raw.isAssignableFrom(ArrayList.class) || raw == Set.class)) {
            return all((Collection<?>) json, type, raw);
        }
        if (json instanceof Map && !raw.isInstance(json)) {
            return bean((Map<?, ?>) json, raw);
        }
        if (json instanceof Map && type instanceof ParameterizedType) {
            Map<Object, Object> map = new LinkedHashMap<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) json).entrySet()) {
                map.put(entry.getKey(), make(entry.getValue(), argument(type, 1)));
            }
            return map;
        }
        if (!raw.isInstance(json)) {
            throw new IllegalArgumentException("a JSON " + json.getClass().getSimpleName() + " is no " + raw.getName());
        }
        return json;
    }

    private static Object all(Collection<?> json, Type type, Class<?> raw) throws ReflectiveOperationException {
        Type element = type instanceof GenericArrayType ? ((GenericArrayType) type).getGenericComponentType()
                : raw.isArray() ? raw.getComponentType() : argument(type, 0);
        List<Object> made = new ArrayList<>();
        for (Object value : json) {
            made.add(make(value, element));
        }
        if (!raw.isArray()) {
            return raw == Set.class ? new LinkedHashSet<>(made) : made;
        }
        Object array = Array.newInstance(raw(element), made.size());
        for (int i = 0; i < made.size(); i++) {
            Array.set(array, i, made.get(i));
        }
        return array;
    }

    /** An object with a constructor without parameters, and fields of the JSON's names. */
    private static Object bean(Map<?, ?> json, Class<?> raw) throws ReflectiveOperationException {
        java.lang.reflect.Constructor<?> constructor = raw.getDeclaredConstructor();
        constructor.setAccessible(true);
        Object bean = constructor.newInstance();
        for (Map.Entry<?, ?> entry : json.entrySet()) {
            Field field = field(raw, entry.getKey().toString());
            field.setAccessible(true);
            field.set(bean, make(entry.getValue(), field.getGenericType()));
        }
        return bean;
    }

    private static Field field(Class<?> type, String name) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            for (Field field : at.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    return field;
                }
            }
        }
        throw new IllegalArgumentException(type.getName() + " has no field " + name);
    }

    private static Number number(Number json, Class<?> raw) {
        switch (raw.getSimpleName()) {
            case "byte":
            case "Byte":
                return json.byteValue();
            case "short":
            case "Short":
                return json.shortValue();
            case "int":
            case "Integer":
                return json.intValue();
            case "long":
            case "Long":
                return json.longValue();
            case "float":
            case "Float":
                return json.floatValue();
            case "double":
            case "Double":
                return json.doubleValue();
            case "BigDecimal":
                return new java.math.BigDecimal(json.toString());
            case "BigInteger":
                return new java.math.BigInteger(json.toString());
            case "Number":
                return json;
            default:
                throw new IllegalArgumentException("a number is no " + raw.getName());
        }
    }

    private static Class<?> raw(Type type) {
        if (type instanceof GenericArrayType) {
            return Array.newInstance(raw(((GenericArrayType) type).getGenericComponentType()), 0).getClass();
        }
        return type instanceof Class ? (Class<?>) type
                : type instanceof ParameterizedType ? raw(((ParameterizedType) type).getRawType()) : Object.class;
    }

    private static Type argument(Type type, int index) {
        return type instanceof ParameterizedType ? ((ParameterizedType) type).getActualTypeArguments()[index] : Object.class;
    }
}
