import type { Database, LaneName, Param } from './database.ts'

/** Text of a `.sql` file with the types of its parameters and rows, from `sql/queries.d.ts`. */
export type SqlText<Params extends readonly Param[], Row extends object> = string & {
  readonly __params?: Params
  readonly __row?: Row
}

/** Asks the database: a wrong number or type of parameters, or an unknown column of the result, does not compile. */
type Call<Params extends object, Result> = (
  db: Database,
  params: Params,
  options?: { readonly deadlineMs?: number },
) => Promise<Result>

/** Binds the text of a `.sql` file to its types and its lane. */
export function query<Params extends readonly Param[], Row extends object>(
  text: SqlText<Params, Row>,
  lane: LaneName,
): Call<Params, readonly Row[]> {
  return (db, params, options) => db.run<Row>(text, params, { ...options, lane })
}

/** What the catalogue says about a function besides its types: its parameters and its columns, in their order. */
interface Signature<Params extends object> {
  readonly name: string
  readonly params: readonly (keyof Params)[]
  /** Absent if it gives one value, or nothing. */
  readonly columns?: readonly string[]
}

/** Binds a function that returns a table, with its parameters by name; `sql/functions.ts` has all that the program calls. */
export function callRows<Params extends { readonly [K in keyof Params]: Param }, Row extends object>(
  lane: LaneName,
  { name, params: names, columns }: Signature<Params>,
): Call<Params, readonly Row[]> {
  const call = `${name}(${names.map((_, index) => `$${index + 1}`)})`
  const text = columns === undefined ? `select ${call} as value` : `select ${columns} from ${call}`
  return (db, params, options) => {
    const values = names.map((each) => params[each])
    return db.run<Row>(text, values, { ...options, lane })
  }
}

/** The same for a function that gives one value, or nothing. */
export function callValue<Params extends { readonly [K in keyof Params]: Param }, Value>(
  lane: LaneName,
  signature: Signature<Params>,
): Call<Params, Value> {
  const rows = callRows<Params, { readonly value: Value }>(lane, signature)
  return async (db, params, options) => {
    const [row] = await rows(db, params, options)
    if (row === undefined) throw new Error(`Cannot call ${signature.name}: the database answered no row`)
    return row.value
  }
}
