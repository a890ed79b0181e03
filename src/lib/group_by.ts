/** Groups items by key, in order. Node 20 has no `Map.groupBy`. */
export function groupBy<Item, Key>(
  items: readonly Item[],
  getKey: (item: Item) => Key,
): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const group = groups.get(getKey(item))
    if (group === undefined) groups.set(getKey(item), [item])
    else group.push(item)
  }
  return groups
}
