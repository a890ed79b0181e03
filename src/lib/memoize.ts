import { createLru } from './lru.ts'

/** Wraps `make` so that the first call creates the value and later calls return it. */
export function once<T>(make: () => T): () => T {
  let result: { readonly value: T } | undefined
  return () => {
    result ??= { value: make() }
    return result.value
  }
}

/** Wraps a function so that it calculates once for each object; the object must not change. */
export function memoize<Key extends object, Value>(calculate: (key: Key) => Value): (key: Key) => Value {
  const cache = new WeakMap<Key, Value>()
  return (key) => {
    const cached = cache.get(key)
    if (cached !== undefined) return cached
    const value = calculate(key)
    cache.set(key, value)
    return value
  }
}

/** Wraps a function of text with an LRU cache of at most `charsMax` characters of keys. */
export function memoizeText<Text extends string, Value extends string | object>(
  calculate: (text: Text) => Value,
  charsMax: number,
): (text: Text) => Value {
  const cache = createLru<Value>({
    entriesMax: Number.POSITIVE_INFINITY,
    weightMax: charsMax,
    getWeight: (_, text) => text.length,
  })
  return (text) => {
    const cached = cache.get(text)
    if (cached !== undefined) return cached
    const value = calculate(text)
    cache.set(text, value)
    return value
  }
}
