import type { Param } from './database.ts'

/**
 * Encodes a parameter as its wire text, so that the driver never guesses a type: it would encode arrays of dates or
 * bytes wrongly and cut microseconds. PostgreSQL infers the type from the statement.
 */
export function encodeParam(param: Param): string | null {
  if (param === null || typeof param === 'string') return param
  if (typeof param === 'number') return encodeNumber(param)
  if (typeof param === 'boolean') return param ? 't' : 'f'
  if (param instanceof Date) return param.toISOString()
  if (param instanceof Uint8Array) return `\\x${Buffer.from(param).toString('hex')}`
  if (Array.isArray(param)) return encodeArray(param)
  throw new TypeError(`Cannot send a ${typeof param} to the database: expected a parameter type`)
}

function encodeNumber(value: number | bigint): string {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new RangeError('Cannot send a number to the database: expected a safe integer, send larger ones as text')
  }
  return String(value)
}

/** Joins texts at once if none needs an escape: a batch of the gate sends thousands, and hardly any needs one. */
function encodeArray(values: readonly unknown[]): string {
  if (values.every(Number.isSafeInteger)) return `{${values.join(',')}}`
  if (values.every((value) => typeof value === 'number')) return `{${values.map(encodeNumber).join(',')}}`
  if (!values.every((value) => typeof value === 'string')) {
    throw new TypeError('Cannot send an array to the database: expected strings or numbers')
  }
  const joined = values.join('","')
  if (!joined.includes('\\') && !values.some((value) => value.includes('"'))) return `{"${joined}"}`
  return `{${values.map(encodeText).join(',')}}`
}

/** Returns the text of an array, which a statement casts: `$1::bigint[]`. */
export function toArrayText(values: readonly (string | number | bigint | null)[]): string {
  if (!values.some((value) => value === null || typeof value === 'bigint')) return encodeArray(values)
  const words = values.map((value) => {
    if (value === null) return 'NULL'
    return typeof value === 'string' ? encodeText(value) : encodeNumber(value)
  })
  return `{${words.join(',')}}`
}

function encodeText(value: string): string {
  return `"${value.replace(/["\\]/g, '\\$&')}"`
}

type Decode = (text: string) => unknown

const toNumber: Decode = (text) => Number(text)
const toBoolean: Decode = (text) => text === 't'
const toBytes: Decode = (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex'))
const toJson: Decode = (text) => JSON.parse(text)
const toText: Decode = (text) => text

/** Parses `2024-05-06 07:08:09.123456+00`, as the session prints it in UTC; `Date` cuts microseconds. */
const toDate: Decode = (text) => new Date(`${text.slice(0, 10)}T${text.slice(11).replace(/\+00$/, '')}Z`)

/**
 * Decoders by type OID. Types absent here (int8, numeric, text, uuid, date, …) stay text, exact to the last digit.
 * `bun run sql:types` writes `tsType`.
 */
export const DECODED_TYPES = [
  { oid: 16, arrayOid: 1000, tsType: 'boolean', decode: toBoolean },
  { oid: 17, arrayOid: 1001, tsType: 'Uint8Array', decode: toBytes },
  { oid: 21, arrayOid: 1005, tsType: 'number', decode: toNumber },
  { oid: 23, arrayOid: 1007, tsType: 'number', decode: toNumber },
  { oid: 26, arrayOid: 1028, tsType: 'number', decode: toNumber },
  { oid: 700, arrayOid: 1021, tsType: 'number', decode: toNumber },
  { oid: 701, arrayOid: 1022, tsType: 'number', decode: toNumber },
  { oid: 114, arrayOid: 199, tsType: 'unknown', decode: toJson },
  { oid: 3802, arrayOid: 3807, tsType: 'unknown', decode: toJson },
  { oid: 1114, arrayOid: 1115, tsType: 'Date', decode: toDate },
  { oid: 1184, arrayOid: 1185, tsType: 'Date', decode: toDate },
] as const

/** Arrays whose elements stay text: text, varchar, int8, numeric, uuid, date. */
const TEXT_ARRAY_OIDS: readonly number[] = [1009, 1015, 1016, 1231, 2951, 1182]

/** OIDs for which the driver has serializers; ours replace them. */
const DRIVER_SERIALIZED_OIDS: readonly number[] = [0, 16, 17, 25, 114, 1082, 1114, 1184, 3802]

/** Returns the driver's `types` option that makes it use this file's encoding and decoding only. */
export function driverTypes() {
  const decoders = new Map<number, Decode>(DRIVER_SERIALIZED_OIDS.map((oid) => [oid, toText]))
  for (const { oid, arrayOid, decode } of DECODED_TYPES) {
    decoders.set(oid, decode)
    decoders.set(arrayOid, (text) => decodeArray(text, decode))
  }
  for (const oid of TEXT_ARRAY_OIDS) decoders.set(oid, (text) => decodeArray(text, toText))
  return Object.fromEntries(
    [...decoders].map(([oid, parse]) => [
      `t${oid}`,
      { to: oid, from: [oid], serialize: (value: unknown) => value, parse },
    ]),
  )
}

/** One dimension without quotes can be split at its commas. */
const PLAIN_ARRAY = /^\{[^{}"\\]*\}$/

/** Reads PostgreSQL's array text, one dimension or more; an unquoted `NULL` is null. Throws on anything else. */
function decodeArray(text: string, decode: Decode): unknown[] {
  if (!PLAIN_ARRAY.test(text)) return decodeNested(text, decode)
  if (text === '{}') return []
  const words = text.slice(1, -1).split(',')
  if (text.includes('NULL')) return words.map((word) => (word === 'NULL' ? null : decode(word)))
  return decode === toText ? words : words.map(decode)
}

/** Decodes an array with quotes or of several dimensions. */
function decodeNested(text: string, decode: Decode): unknown[] {
  let position = 0
  function parseList(): unknown[] {
    const items: unknown[] = []
    position++
    while (text[position] !== '}') {
      items.push(parseItem())
      if (text[position] === ',') position++
      else if (text[position] !== '}') throw new Error('Cannot read an array from the database: it is malformed')
    }
    position++
    return items
  }

  function parseItem(): unknown {
    if (text[position] === '{') return parseList()
    if (text[position] === '"') return decode(parseQuoted())
    const start = position
    while (position < text.length && text[position] !== ',' && text[position] !== '}') position++
    const word = text.slice(start, position)
    return word === 'NULL' ? null : decode(word)
  }

  function parseQuoted(): string {
    let value = ''
    for (position++; text[position] !== '"'; position++) {
      if (position >= text.length) throw new Error('Cannot read an array from the database: it is malformed')
      if (text[position] === '\\') position++
      value += text[position]
    }
    position++
    return value
  }

  if (text[0] !== '{') throw new Error('Cannot read an array from the database: it is malformed')
  return parseList()
}
