interface LruEntry<Value> {
  readonly value: Value
  readonly weight: number
}

/**
 * Creates a cache of at most `entriesMax` values with a total weight of at most `weightMax`; it evicts the least
 * recently used. A value heavier than `weightMax` is not stored. `isOver` says that a value will not be used again: such
 * values are evicted whenever as many were set as lived the last time, wherever those with a longer life stand.
 */
export function createLru<Value, Key = string>(options: {
  readonly entriesMax: number
  readonly weightMax?: number
  readonly getWeight?: (value: Value, key: Key) => number
  readonly isOver?: (value: Value) => boolean
}) {
  const { entriesMax, weightMax = Number.POSITIVE_INFINITY, getWeight = () => 0, isOver } = options
  // A Map keeps the order of insertion: the most recently used is last.
  const entries = new Map<Key, LruEntry<Value>>()
  let totalWeight = 0
  let setsUntilSweep = 0

  function drop(key: Key): void {
    totalWeight -= entries.get(key)?.weight ?? 0
    entries.delete(key)
  }

  /** Evicts what is over. No iterator is kept between two calls: it would keep every table that the map has outgrown. */
  function sweep(isOver: (value: Value) => boolean): void {
    for (const [key, { value }] of entries) {
      if (isOver(value)) drop(key)
    }
    setsUntilSweep = entries.size
  }

  return {
    /** Returns the value of a key and marks it as used. */
    get(key: Key): Value | undefined {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entries.delete(key)
      entries.set(key, entry)
      return entry.value
    },
    set(key: Key, value: Value): void {
      drop(key)
      const weight = getWeight(value, key)
      if (weight > weightMax) return
      entries.set(key, { value, weight })
      totalWeight += weight
      if (isOver !== undefined && --setsUntilSweep <= 0) sweep(isOver)
      for (const oldest of entries.keys()) {
        if (entries.size <= entriesMax && totalWeight <= weightMax) break
        drop(oldest)
      }
    },
    delete: drop,
    get size(): number {
      return entries.size
    },
  }
}
