/** A table whose keys are chain ids, as a map. */
export function byChain<Row>(table: Readonly<Record<number, Row>>): ReadonlyMap<number, Row> {
  return new Map(Object.entries(table).map(([id, row]) => [Number(id), row]))
}
