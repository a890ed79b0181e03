/** A table that is written by chain id, as a map. */
export function byChain<Row>(table: Readonly<Record<number, Row>>): ReadonlyMap<number, Row> {
  return new Map(Object.entries(table).map(([id, row]) => [Number(id), row]))
}
