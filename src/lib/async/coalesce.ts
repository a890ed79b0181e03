interface PendingItem<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Combines the items that arrive under one key in one event-loop turn into calls of `answer`, at most `itemsMax` items
 * each. `answer` returns results in the order of the items; its failure rejects all of them.
 */
export function coalesce<Item, Result>(options: {
  readonly getKey: (item: Item) => string
  readonly itemsMax: number
  readonly answer: (items: readonly Item[]) => Promise<readonly Result[]>
}): (item: Item) => Promise<Result> {
  const { getKey, itemsMax, answer } = options
  const groups = new Map<string, PendingItem<Item, Result>[]>()

  async function send(group: readonly PendingItem<Item, Result>[]): Promise<void> {
    try {
      const results = await answer(group.map(({ item }) => item))
      if (results.length !== group.length)
        throw new Error(`Cannot distribute results: expected ${group.length}, got ${results.length}`)
      for (const [index, each] of group.entries()) each.resolve(results[index] as Result)
    } catch (error) {
      for (const each of group) each.reject(error)
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const key = getKey(item)
      const group = groups.get(key)
      const pending = { item, resolve, reject }
      if (group !== undefined && group.length < itemsMax) {
        group.push(pending)
        return
      }
      const newGroup = [pending]
      groups.set(key, newGroup)
      setImmediate(() => {
        if (groups.get(key) === newGroup) groups.delete(key)
        void send(newGroup)
      })
    })
}
