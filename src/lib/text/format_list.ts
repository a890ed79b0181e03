/** Items for a sentence, separated by commas: the first `most` of them, and how many more there are. */
export function formatList(items: readonly string[], most: number): string {
  const shown = items.slice(0, most).join(', ')
  return items.length > most ? `${shown} and ${items.length - most} more` : shown
}
