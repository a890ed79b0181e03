import { createLru } from './lru.ts'

/** Makes a value when it is first asked for, and keeps it. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** The same function, which calculates once for each object; the object must not change. */
export function memoize<Key extends object, Value>(calculate: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    const before = known.get(key)
    if (before !== undefined) return before
    const value = calculate(key)
    known.set(key, value)
    return value
  }
}

/** The same for text, while the texts used last have no more than `charsMax` characters. */
export function memoizeText<Text extends string, Value extends string | object>(
  calculate: (text: Text) => Value,
  charsMax: number,
): (text: Text) => Value {
  const known = createLru<Value>({
    entriesMax: Number.POSITIVE_INFINITY,
    weightMax: charsMax,
    weightOf: (_, text) => text.length,
  })
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const value = calculate(text)
    known.set(text, value)
    return value
  }
}
