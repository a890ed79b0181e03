/**
 * A queue that serves those who ask in turn, however many items each of them has in it. Askers without items take no
 * memory.
 */
export function createFairQueue<T>() {
  // A Map keeps the order of insertion: the asker who was served last is last.
  const items = new Map<string, Set<T>>()
  let size = 0

  function remove(asker: string, item: T): void {
    const own = items.get(asker)
    if (own?.delete(item) !== true) return
    size--
    if (own.size === 0) items.delete(asker)
  }

  return {
    add(asker: string, item: T): void {
      const own = items.get(asker) ?? new Set()
      items.set(asker, own)
      if (own.has(item)) return
      own.add(item)
      size++
    },
    /** Takes an item out before its turn. */
    delete: remove,
    /** Takes the next item: the oldest of the asker who was served longest ago. Undefined if there is none. */
    next(): T | undefined {
      for (const [asker, own] of items) {
        for (const item of own) {
          remove(asker, item)
          if (items.delete(asker)) items.set(asker, own)
          return item
        }
      }
      return undefined
    },
    get size(): number {
      return size
    },
    /** Items of one asker. */
    sizeOf: (asker: string): number => items.get(asker)?.size ?? 0,
  }
}
