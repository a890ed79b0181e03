import { type Address, zeroAddress } from 'viem'
import type { LensAccess } from '../../../../chain/call/lens.ts'
import { type ChainClient, ContractUnresponsiveError, type Endpoint } from '../../../../chain/rpc/client.ts'
import { NO_PRICE_SOURCES } from '../../../../finance/price/price_sources.ts'
import { runCooperatively } from '../../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import type { FamilyTarget } from '../../../moment.ts'
import type { Custodian } from '../../protocol.ts'
import type { EnumerableDeployment, RegisteredCustodians } from '../exchange.ts'
import { decodeLens, encodeList, type RawFound, type RawRead, type RawRegistry, type RegistryQuery } from './abi.ts'

/*
 * Custodians that a contract of the chain lists, a registry: there are thousands, and new ones come. A list of a wallet
 * asks each of them, and in the same call the registry, so that none is missing. What is known of a registry is kept by
 * endpoint: no endpoint's word decides what another one is asked. A client that records its reads has a memory of its
 * own, so that its record holds what an answer rests on.
 */

/** Entries of a registry that one call reads: those a list finds are few, and a first look takes 15,000 gas each. */
const LIST_MAX = 32
const SURVEY_MAX = 1_000
/** Attempts until the registry has no new custodian. */
const ATTEMPTS_MAX = 4

/** A target with the custodians of its registries. */
export interface RegisteredTarget extends FamilyTarget<EnumerableDeployment> {
  readonly registered?: RegisteredCustodians
  readonly registries?: {
    readonly queries: readonly RegistryQuery[]
    /** Takes in what an answer says about registries. Throws `ContractUnresponsiveError` if one does not answer. */
    readonly observe: (answer: Pick<RawRead, 'found' | 'registries'>) => void
  }
}

/** What is known of a registry: a prefix of its entries, and the custodians among them. */
interface Book {
  readonly registry: Custodian
  known: number
  last: Address
  custodians: readonly { readonly manager: Address; readonly custodian: Custodian }[]
}

/** Where and what is read. */
interface RegistryReading {
  readonly client: ChainClient
  readonly endpoint: Pick<Endpoint, 'learned'>
  readonly lens: LensAccess
  readonly target: RegisteredTarget
}

const kept = new WeakMap<ChainClient, WeakMap<Endpoint['learned'], Map<string, Book>>>()

/**
 * Calls `read` with all custodians of the target's registries, again if the registries turn out to have more. Throws as
 * `read`, `ContractUnresponsiveError` if a registry does not answer.
 */
export async function readRegistered<Answer>(
  reading: RegistryReading,
  read: (target: RegisteredTarget) => Promise<Answer>,
): Promise<Answer> {
  const { target } = reading
  const books = openBooks(reading)
  if (books.length === 0) return await read(target)
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    await survey(reading, books)
    let isComplete = true
    const queries = books.map((book) => toQuery(book, LIST_MAX))
    const observe = (answer: Pick<RawRead, 'found' | 'registries'>): void => {
      if (!takeIn(books, { queries, answer }, target)) isComplete = false
    }
    const registered = groupByDeployment(books, target.deployments)
    try {
      const answer = await read({ ...target, registered, registries: { queries, observe } })
      if (isComplete) return answer
    } catch (error) {
      if (isComplete) throw error
    }
  }
  throw new UpstreamError('Cannot read the custodians: their registry changes with every answer')
}

/** Opens what is known of each registry. Which managers' custodians are kept depends on the managers that are read. */
function openBooks({ client, endpoint, target: { deployments } }: RegistryReading): readonly Book[] {
  const byEndpoint = getOrMake(kept, client, () => new WeakMap<Endpoint['learned'], Map<string, Book>>())
  const books = getOrMake(byEndpoint, endpoint.learned, () => new Map<string, Book>())
  const managers = deployments.map(({ manager }) => manager).join()
  const registries = deployments.flatMap(({ registry }) => registry ?? [])
  const distinct = new Map(registries.map((registry) => [registry.address, registry]))
  return [...distinct.values()].map((registry) =>
    getOrMake(books, `${registry.address}:${managers}`, () => emptyBook(registry)),
  )
}

/** Reads registries of which nothing is known yet, or of which there is much more, in pages. */
async function survey({ lens, target }: RegistryReading, books: readonly Book[]): Promise<void> {
  const holders = target.deployments.map((deployment) => ({ deployment, custodian: undefined }))
  const none = { wallet: zeroAddress, offset: 0, count: 0, bytesMax: SURVEY_BYTES_MAX, firstMax: 0 }
  for (const book of books) {
    let isOpen = book.known === 0
    while (isOpen) {
      const query = toQuery(book, SURVEY_MAX)
      const data = encodeList({ holders, prices: NO_PRICE_SOURCES, registries: [query] }, none)
      const raw = await runCooperatively(
        decodeLens(await lens.call({ data, block: lens.at ?? 'latest', isLight: true })),
      )
      takeIn([book], { queries: [query], answer: raw }, target)
      isOpen = raw.registries[0]?.state === 'more' && book.known > query.known
    }
  }
}

const SURVEY_BYTES_MAX = 500_000

/** Adds what an answer says to the books. False if the answer cannot rest on what was known when it was asked. */
function takeIn(
  books: readonly Book[],
  {
    queries,
    answer: { found, registries },
  }: { readonly queries: readonly RegistryQuery[]; readonly answer: Pick<RawRead, 'found' | 'registries'> },
  target: RegisteredTarget,
): boolean {
  const isPast = target.block !== undefined
  return books
    .map((book, index) => {
      const [answer, query] = [registries[index], queries[index]]
      if (answer === undefined || query === undefined) {
        throw new UpstreamError('Cannot decode the lens: a registry is missing')
      }
      checkRegistry(answer, { book, isPast })
      if (answer.lastState === 'changed' || (answer.lastState === 'missing' && !isPast)) {
        // A reorganization took away what was known.
        Object.assign(book, emptyBook(book.registry))
        return false
      }
      const own = found.filter((each) => each.registry === index)
      extend(book, { answer, query, found: own }, target.deployments)
      return own.length === 0 && answer.state !== 'more'
    })
    .every((isComplete) => isComplete)
}

/** At a past block, a registry may not stand yet. */
function checkRegistry({ state }: RawRegistry, { book, isPast }: { readonly book: Book; readonly isPast: boolean }) {
  if (state === 'silent' || (state === 'absent' && !isPast)) {
    throw new ContractUnresponsiveError(`registry ${book.registry.address} of custodians does not answer`, undefined)
  }
}

function extend(
  book: Book,
  { answer, query, found }: { answer: RawRegistry; query: RegistryQuery; found: readonly RawFound[] },
  deployments: readonly EnumerableDeployment[],
): void {
  // Another answer may have been sooner, or a reorganization.
  if (answer.known <= book.known || query.known > book.known) return
  const added = found
    .filter(({ entry }) => entry >= book.known)
    .flatMap(({ address, manager: row }) => {
      const manager = deployments[row]?.manager
      return manager === undefined ? [] : [{ manager, custodian: { ...book.registry, address } }]
    })
  Object.assign(book, { known: answer.known, last: answer.last, custodians: [...book.custodians, ...added] })
}

function emptyBook(registry: Custodian): Book {
  return { registry, known: 0, last: zeroAddress, custodians: [] }
}

function toQuery({ registry: { address }, known, last }: Book, max: number): RegistryQuery {
  return { address, known, last, max }
}

function groupByDeployment(books: readonly Book[], deployments: readonly EnumerableDeployment[]): RegisteredCustodians {
  const all = books.flatMap(({ custodians }) => custodians)
  return new Map(
    deployments
      .filter(({ registry }) => registry !== undefined)
      .map((deployment) => [
        deployment,
        all.filter(({ manager }) => manager === deployment.manager).map(({ custodian }) => custodian),
      ]),
  )
}

/** The value of a key, made if there is none. */
function getOrMake<Key extends object | string, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
