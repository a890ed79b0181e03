interface PendingItem<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Answers at once what is asked under one name in one turn of the event loop, at most `itemsMax` together. `answer` gives
 * results in the order of the items; if it fails, it fails for all of them.
 */
export function coalesce<Item, Result>(options: {
  readonly nameOf: (item: Item) => string
  readonly itemsMax: number
  readonly answer: (items: readonly Item[]) => Promise<readonly Result[]>
}): (item: Item) => Promise<Result> {
  const { nameOf, itemsMax, answer } = options
  const groups = new Map<string, PendingItem<Item, Result>[]>()

  async function send(group: readonly PendingItem<Item, Result>[]): Promise<void> {
    try {
      const results = await answer(group.map(({ item }) => item))
      if (results.length !== group.length)
        throw new Error(`Cannot hand out ${results.length} of ${group.length} results`)
      for (const [index, each] of group.entries()) each.resolve(results[index] as Result)
    } catch (error) {
      for (const each of group) each.reject(error)
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const name = nameOf(item)
      const group = groups.get(name)
      const waiting = { item, resolve, reject }
      if (group !== undefined && group.length < itemsMax) {
        group.push(waiting)
        return
      }
      const opened = [waiting]
      groups.set(name, opened)
      setImmediate(() => {
        if (groups.get(name) === opened) groups.delete(name)
        void send(opened)
      })
    })
}
