/** Does work for each item, in their order, for at most so many at the same time. Throws the first failure. */
export async function fewAtOnce<Item>(
  items: readonly Item[],
  atOnceMax: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const waiting = items.values()
  const lane = async () => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, lane))
}
