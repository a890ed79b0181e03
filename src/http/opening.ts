import type { Answer, PresentContext, Reply } from './route.ts'

/** Where a request was sent, in the parts of `Exchange`. */
interface Place {
  readonly base: string
  readonly path: string
  readonly query: string
}

/** A success but for its request id, ready to be sent. */
interface Opening {
  /** Text of a JSON object up to its closing brace. */
  readonly opening: string
  readonly headers: Readonly<Record<string, string>>
}

/** The opening that was made of a reading last, and what decided it. */
interface Kept extends Opening {
  readonly address: string
  readonly madeOf: readonly object[]
}

/** By the first reading of the answer. It goes with the reading, and each keeps but one, so they take about its room. */
const kept = new WeakMap<object, Kept>()

/**
 * The beginning of an answer. Within one block many callers ask the same and get the same readings: the text is then
 * the one that was made before.
 */
export function openingOf(answer: Answer, { base, path, query }: Place): Opening {
  const address = query === '' ? `${base}${path}` : `${base}${path}?${query}`
  const { madeOf } = answer
  const [first] = madeOf ?? []
  if (madeOf === undefined || first === undefined) return openingFrom(answer, address)
  const before = kept.get(first)
  if (before !== undefined && before.address === address && isSame(before.madeOf, madeOf)) return before
  const made = { ...openingFrom(answer, address), address, madeOf }
  kept.set(first, made)
  return made
}

function openingFrom(answer: Answer, address: string): Opening {
  const reply = answer.present(new RequestAddress(address))
  const { data, pagination, counts } = reply
  if (data === undefined) throw new Error('Cannot answer without data')
  return {
    opening: JSON.stringify({ data, pagination, counts }).slice(0, -1),
    headers: { ...reply.headers, ...asOf(reply) },
  }
}

function isSame(before: readonly object[], now: readonly object[]): boolean {
  return before.length === now.length && before.every((each, index) => each === now[index])
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
