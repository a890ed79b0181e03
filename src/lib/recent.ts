/** Values by name, bounded in number and weight: those used longest ago are forgotten. */
interface Recent<Name, Value> {
  /** The value of that name, which counts as a use. */
  get(name: Name): Value | undefined
  set(name: Name, value: Value): void
  delete(name: Name): void
  /** Values remembered at the moment. */
  readonly size: number
}

interface Weighed<Value> {
  readonly value: Value
  readonly weight: number
}

/** Remembers at most `entriesMax` values, which together weigh at most `weightMax`; a heavier one is not remembered. */
export function createRecent<Value, Name = string>(options: {
  readonly entriesMax: number
  readonly weightMax?: number
  readonly weightOf?: (value: Value, name: Name) => number
}): Recent<Name, Value> {
  const { entriesMax, weightMax = Number.POSITIVE_INFINITY, weightOf = () => 0 } = options
  // A Map keeps the order of insertion: the most recently used is last.
  const entries = new Map<Name, Weighed<Value>>()
  let weightKept = 0

  function drop(name: Name): void {
    weightKept -= entries.get(name)?.weight ?? 0
    entries.delete(name)
  }

  return {
    get(name) {
      const entry = entries.get(name)
      if (entry === undefined) return undefined
      entries.delete(name)
      entries.set(name, entry)
      return entry.value
    },
    set(name, value) {
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
    get size() {
      return entries.size
    },
  }
}
