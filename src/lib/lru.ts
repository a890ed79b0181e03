interface LruEntry<Value> {
  readonly value: Value
  readonly weight: number
}

/**
 * Remembers at most `entriesMax` values by name, which together weigh at most `weightMax`: those used longest ago are
 * forgotten. A heavier one is not remembered.
 */
export function createLru<Value, Name = string>(options: {
  readonly entriesMax: number
  readonly weightMax?: number
  readonly weightOf?: (value: Value, name: Name) => number
}) {
  const { entriesMax, weightMax = Number.POSITIVE_INFINITY, weightOf = () => 0 } = options
  // A Map keeps the order of insertion: the most recently used is last.
  const entries = new Map<Name, LruEntry<Value>>()
  let weightKept = 0

  function drop(name: Name): void {
    weightKept -= entries.get(name)?.weight ?? 0
    entries.delete(name)
  }

  return {
    /** The value of that name, which counts as a use. */
    get(name: Name): Value | undefined {
      const entry = entries.get(name)
      if (entry === undefined) return undefined
      entries.delete(name)
      entries.set(name, entry)
      return entry.value
    },
    set(name: Name, value: Value): void {
      drop(name)
      const weight = weightOf(value, name)
      if (weight > weightMax) return
      entries.set(name, { value, weight })
      weightKept += weight
      for (const oldest of entries.keys()) {
        if (entries.size <= entriesMax && weightKept <= weightMax) break
        drop(oldest)
      }
    },
    delete: drop,
    get size(): number {
      return entries.size
    },
  }
}
