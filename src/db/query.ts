import type { Database, LaneName, Param } from './database.ts'

/** Text of a `.sql` file with the types of its parameters and rows, from `sql/queries.d.ts`. */
export type SqlText<Params extends readonly Param[], Row extends object> = string & {
  readonly __params?: Params
  readonly __row?: Row
}

/** A typed statement: a wrong number or type of parameters, or an unknown column, does not compile. */
export type Query<Params extends readonly Param[], Row extends object> = (
  db: Database,
  params: Params,
  options?: { readonly deadlineMs?: number },
) => Promise<readonly Row[]>

/** Binds the text of a `.sql` file to its types and its lane. */
export function query<Params extends readonly Param[], Row extends object>(
  text: SqlText<Params, Row>,
  lane: LaneName,
): Query<Params, Row> {
  return (db, params, options) => db.run<Row>(text, params, { ...options, lane })
}
