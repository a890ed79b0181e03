/**
 * Creates a queue that serves requesters in turn, however many items each has queued. Requesters without items take no
 * memory.
 */
export function createFairQueue<T>() {
  // A Map keeps the order of insertion: the requester served most recently is last.
  const itemsByRequester = new Map<string, Set<T>>()
  let size = 0

  function remove(requester: string, item: T): void {
    const own = itemsByRequester.get(requester)
    if (own?.delete(item) !== true) return
    size--
    if (own.size === 0) itemsByRequester.delete(requester)
  }

  return {
    add(requester: string, item: T): void {
      const own = itemsByRequester.get(requester) ?? new Set()
      itemsByRequester.set(requester, own)
      if (own.has(item)) return
      own.add(item)
      size++
    },
    /** Removes an item before its turn. */
    delete: remove,
    /** Takes the next item: the oldest of the requester served longest ago; undefined if the queue is empty. */
    next(): T | undefined {
      for (const [requester, own] of itemsByRequester) {
        for (const item of own) {
          remove(requester, item)
          if (itemsByRequester.delete(requester)) itemsByRequester.set(requester, own)
          return item
        }
      }
      return undefined
    },
    get size(): number {
      return size
    },
    /** Number of items of one requester. */
    countItems: (requester: string): number => itemsByRequester.get(requester)?.size ?? 0,
  }
}
