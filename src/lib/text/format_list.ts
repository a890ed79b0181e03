/** Formats items for a sentence, separated by commas: the first `itemsMax`, and the number of the omitted ones. */
export function formatList(items: readonly string[], itemsMax: number): string {
  const shown = items.slice(0, itemsMax).join(', ')
  return items.length > itemsMax ? `${shown} and ${items.length - itemsMax} more` : shown
}
