/** The same function, which calculates once for each object; the object must not change. */
export function onceEach<Key extends object, Value>(calculate: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    const before = known.get(key)
    if (before !== undefined) return before
    const value = calculate(key)
    known.set(key, value)
    return value
  }
}
