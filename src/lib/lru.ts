interface LruEntry<Value> {
  readonly value: Value
  readonly weight: number
}

/** How many values a `set` examines: with two and more, a turn through all ends although each `set` adds one. */
const SWEEP_MAX = 4

/**
 * Creates a cache of at most `entriesMax` values with a total weight of at most `weightMax`; it evicts the least
 * recently used. A value heavier than `weightMax` is not stored. `isOver` says that a value will not be used again: each
 * `set` examines the next few values in turn and evicts such ones, so that dead values do not fill the cache, wherever
 * values with a longer life stand.
 */
export function createLru<Value, Key = string>(options: {
  readonly entriesMax: number
  readonly weightMax?: number
  readonly getWeight?: (value: Value, key: Key) => number
  readonly isOver?: (value: Value) => boolean
}) {
  const { entriesMax, weightMax = Number.POSITIVE_INFINITY, getWeight = () => 0, isOver = () => false } = options
  // A Map keeps the order of insertion: the most recently used is last.
  const entries = new Map<Key, LruEntry<Value>>()
  let totalWeight = 0
  let turn = { values: entries.entries(), left: 0 }

  function drop(key: Key): void {
    totalWeight -= entries.get(key)?.weight ?? 0
    entries.delete(key)
  }

  /** Examines the next values of a turn. It ends after as many as there were: values in use move on before it. */
  function sweep(): void {
    for (let count = 0; count < SWEEP_MAX; count++) {
      const next = turn.left-- > 0 ? turn.values.next() : undefined
      if (next === undefined || next.done === true) {
        turn = { values: entries.entries(), left: entries.size }
        return
      }
      const [key, { value }] = next.value
      if (isOver(value)) drop(key)
    }
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
      sweep()
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
