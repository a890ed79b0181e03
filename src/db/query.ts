import type { Database, LaneName, Param } from './database.ts'

/** Runs a query: a missing or wrong parameter, or an unknown column of the result, does not compile. */
type Call<Params extends object, Result> = (
  db: Database,
  params: Params,
  options?: { readonly deadlineMs?: number },
) => Promise<Result>

/** A query of `sql/queries`: its text, and its parameters in order. */
interface Query<Params extends object> {
  readonly text: string
  readonly params: readonly (keyof Params)[]
}

/** Binds a query to a lane, with its parameters by name; `sql/queries.ts` has all of them. */
export function bindQuery<Params extends { readonly [K in keyof Params]: Param }, Row extends object>(
  lane: LaneName,
  { text, params: names }: Query<Params>,
): Call<Params, readonly Row[]> {
  return (db, params, options) => {
    const values = names.map((each) => params[each])
    return db.run<Row>(text, values, { ...options, lane })
  }
}

/** A function of the catalogue: its parameters and its columns, in order. */
interface Signature<Params extends object> {
  readonly name: string
  readonly params: readonly (keyof Params)[]
  /** Absent if the function returns one value or nothing. */
  readonly columns?: readonly string[]
  /** True if the last parameter is a list of which each item is sent as a parameter of its own. */
  readonly isVariadic?: boolean
}

/** Binds a function that returns a table; `sql/functions.ts` has all functions that the program calls. */
export function bindRows<Params extends { readonly [K in keyof Params]: Param }, Row extends object>(
  lane: LaneName,
  { name, params: names, columns, isVariadic = false }: Signature<Params>,
): Call<Params, readonly Row[]> {
  const getText = (valueCount: number) => {
    const call = `${name}(${Array.from({ length: valueCount }, (_, index) => `$${index + 1}`)})`
    return columns === undefined ? `select ${call} as value` : `select ${columns} from ${call}`
  }
  if (!isVariadic) return bindQuery<Params, Row>(lane, { text: getText(names.length), params: names })
  return (db, params, options) => {
    const values: Param[] = names.map((each) => params[each])
    const last = values.pop()
    values.push(...(Array.isArray(last) ? last : []))
    return db.run<Row>(getText(values.length), values, { ...options, lane })
  }
}

/** Binds a function that returns one value or nothing. */
export function bindValue<Params extends { readonly [K in keyof Params]: Param }, Value>(
  lane: LaneName,
  signature: Signature<Params>,
): Call<Params, Value> {
  const rows = bindRows<Params, { readonly value: Value }>(lane, signature)
  return async (db, params, options) => {
    const [row] = await rows(db, params, options)
    if (row === undefined) throw new Error(`Cannot call ${signature.name}: the database returned no row`)
    return row.value
  }
}
