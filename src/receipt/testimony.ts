import type { Testimony } from '../family/contract.ts'
import type { FinanceClient } from '../finance/chain.ts'
import { UpstreamError } from '../lib/error.ts'

/** What a history told of a chain. */
export interface Told {
  readonly chainId: number
  /** What it is about: `morpho-blue markets`. */
  readonly name: string
  readonly texts: readonly string[]
}

type Subject = Pick<Told, 'chainId' | 'name'>

/** Records what histories tell one answer. They read with `clients`, whose requests are not part of the answer's record. */
export function recordTestimony(clients: ReadonlyMap<number, FinanceClient>) {
  const pending = new Map<string, Promise<readonly string[]>>()
  const told = new Map<string, Told>()
  const testimony: Testimony = {
    async tell(subject, read) {
      const { chainId, name } = subject
      const client = clients.get(chainId)
      if (client === undefined) throw new UpstreamError(`No client reads chain ${chainId}`)
      const key = getKey(subject)
      const reading = pending.get(key) ?? read(client)
      pending.set(key, reading)
      try {
        const texts = await reading
        told.set(key, { chainId, name, texts })
        return texts
      } catch (error) {
        // Another attempt may succeed.
        if (pending.get(key) === reading) pending.delete(key)
        throw error
      }
    },
  }
  return {
    testimony,
    /** Lists what was told so far, sorted. */
    list: (): readonly Told[] => [...told].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each),
  }
}

/** Tells an answer what it was told when it was recorded, and nothing else. */
export function replayTestimony(told: readonly Told[]) {
  const byKey = new Map(told.map((each) => [getKey(each), each.texts]))
  const used = new Set<string>()
  const testimony: Testimony = {
    async tell(subject) {
      const key = getKey(subject)
      const texts = byKey.get(key)
      if (texts === undefined) throw new UpstreamError('the route asks histories for what the receipt does not state')
      used.add(key)
      return texts
    },
  }
  return {
    testimony,
    /** Lists faults as sentences: what no history was asked for, or duplicates. */
    faults: (): readonly string[] =>
      used.size < told.length ? ['it states of histories what the route does not ask for'] : [],
  }
}

function getKey({ chainId, name }: Subject): string {
  return `${String(chainId).padStart(16, '0')} ${name}`
}
