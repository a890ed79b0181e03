import type { Answer, Call, PresentContext, Reply } from '../route/route.ts'

/** Where a request was sent, in the parts of `Exchange`. */
interface Place {
  readonly base: string
  readonly path: string
  readonly query: string
}

/** A success but for its request id, ready to be sent. */
export interface Opening {
  /** Text of a JSON object up to its closing brace. */
  readonly opening: string
  readonly headers: Readonly<Record<string, string>>
  readonly credits: number
}

/** The opening that was made of a reading last, and what decided it. */
interface Kept {
  readonly made: Opening
  readonly input: object
  readonly place: Place
  readonly madeOf: readonly object[]
}

/** By the first reading of the answer: it goes with the reading, and each keeps only one, so they take about its room. */
const kept = new WeakMap<object, Kept>()

/**
 * The beginning of an answer that needs no reading: within one block many callers ask the same, and what was said
 * before, of the same readings, is said again. Undefined if there is none.
 */
export function openingAtHand(call: Call, place: Place): Opening | undefined {
  const readings = call.kept()
  return readings && madeBefore(call, readings, place)
}

/** The beginning of an answer, made once for callers who share its readings. */
export function openingOf(call: Call, answer: Answer, place: Place): Opening {
  const { madeOf } = answer
  const before = madeOf && madeBefore(call, madeOf, place)
  if (before !== undefined) return before
  const made = openingFrom(answer, place)
  const [first] = madeOf ?? []
  if (madeOf === undefined || first === undefined) return made
  // Not the place itself: it is all of the request, and would stay with the reading.
  const { base, path, query } = place
  kept.set(first, { made, input: call.input, place: { base, path, query }, madeOf })
  return made
}

function madeBefore(call: Call, readings: readonly object[], { base, path, query }: Place): Opening | undefined {
  const [first] = readings
  const before = first && kept.get(first)
  if (before === undefined || before.input !== call.input || !isSame(before.madeOf, readings)) return undefined
  const { place, made } = before
  return place.base === base && place.path === path && place.query === query ? made : undefined
}

function isSame(before: readonly object[], now: readonly object[]): boolean {
  return before.length === now.length && before.every((each, index) => each === now[index])
}

function openingFrom(answer: Answer, { base, path, query }: Place): Opening {
  const reply = answer.present(new RequestAddress(query === '' ? `${base}${path}` : `${base}${path}?${query}`))
  const { data, pagination, counts } = reply
  if (data === undefined) throw new Error('Cannot answer without data')
  return {
    opening: JSON.stringify({ data, pagination, counts }).slice(0, -1),
    headers: { ...reply.headers, ...asOf(reply) },
    credits: answer.credits,
  }
}

function asOf({ asOf: reads = [] }: Reply): Readonly<Record<string, string>> {
  if (reads.length === 0) return {}
  return { 'x-as-of': reads.map(({ chainId, blockNumber }) => `${chainId}:${blockNumber}`).join(',') }
}

/** Absolute address of a request, built only if a route asks for it. */
class RequestAddress implements PresentContext {
  readonly #address: string

  constructor(address: string) {
    this.#address = address
  }

  get url(): URL {
    return new URL(this.#address)
  }
}
