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
/** Entries without a custodian that a registry may list; a list asks for each again. */
const VACANCIES_MAX = 100
/** Entries of a registry, and custodians among them, that are read. The largest known lists some 9,000 pools. */
const ENTRIES_MAX = 100_000
const CUSTODIANS_MAX = 20_000
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
  /** Numbers of the entries that had no custodian yet when they were read. */
  vacancies: readonly number[]
  /** True if the registry has more entries than the last list read. */
  isBehind: boolean
}

/** What is asked of a registry: what comes after the known entries, or an entry that had no custodian. */
interface RegistryQuestion {
  readonly book: Book
  readonly query: RegistryQuery
  readonly isOfVacancy: boolean
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
    const questions = books.flatMap(listQuestions)
    const queries = questions.map(({ query }) => query)
    const observe = (answer: Pick<RawRead, 'found' | 'registries'>): void => {
      if (!takeIn(questions, answer, target)) isComplete = false
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

/** Lists what a list asks of a registry. */
function listQuestions(book: Book): readonly RegistryQuestion[] {
  const { registry, vacancies } = book
  if (vacancies.length > VACANCIES_MAX) {
    throw new UpstreamError(`Cannot read the custodians: registry ${registry.address} lists too many that are none`)
  }
  const ask = (known: number): RegistryQuery => ({ address: registry.address, known, last: zeroAddress, max: 1 })
  return [
    { book, query: toQuery(book, LIST_MAX), isOfVacancy: false },
    ...vacancies.map((entry) => ({ book, query: ask(entry), isOfVacancy: true })),
  ]
}

/** Reads registries of which nothing is known yet, or of which there is much more, in pages. */
async function survey({ lens, target }: RegistryReading, books: readonly Book[]): Promise<void> {
  const holders = target.deployments.map((deployment) => ({ deployment, custodian: undefined }))
  const none = { wallet: zeroAddress, offset: 0, count: 0, bytesMax: SURVEY_BYTES_MAX, firstMax: 0 }
  for (const book of books) {
    let isOpen = book.known === 0 || book.isBehind
    while (isOpen) {
      const query = toQuery(book, SURVEY_MAX)
      const data = encodeList({ holders, prices: NO_PRICE_SOURCES, registries: [query] }, none)
      const raw = await runCooperatively(
        decodeLens(await lens.call({ data, block: lens.at ?? 'latest', isLight: true })),
      )
      takeIn([{ book, query, isOfVacancy: false }], raw, target)
      isOpen = book.isBehind && book.known > query.known
    }
  }
}

const SURVEY_BYTES_MAX = 500_000

/** Adds what an answer says to the books. False if the answer cannot rest on what was known when it was asked. */
function takeIn(
  questions: readonly RegistryQuestion[],
  { found, registries }: Pick<RawRead, 'found' | 'registries'>,
  target: RegisteredTarget,
): boolean {
  const isPast = target.block !== undefined
  return questions
    .map(({ book, query, isOfVacancy }, index) => {
      const answer = registries[index]
      if (answer === undefined) throw new UpstreamError('Cannot decode the lens: a registry is missing')
      checkRegistry(answer, { book, isPast })
      const own = found.filter((each) => each.registry === index)
      const filled = own.filter(({ address }) => address !== zeroAddress)
      if (isOfVacancy) return filled.length === 0 || fillVacancy(book, query.known, toCustodians(book, filled, target))
      if (answer.lastState === 'changed' || (answer.lastState === 'missing' && !isPast)) {
        // A reorganization took away what was known.
        Object.assign(book, emptyBook(book.registry))
        return false
      }
      extend(book, { answer, query, found: own }, target)
      book.isBehind = answer.state === 'more'
      return filled.length === 0 && !book.isBehind
    })
    .every((isComplete) => isComplete)
}

/** Takes in what an entry without a custodian has now. False: no answer rests on it yet. */
function fillVacancy(book: Book, entry: number, custodians: Book['custodians']): false {
  if (!book.vacancies.includes(entry)) return false
  book.vacancies = book.vacancies.filter((each) => each !== entry)
  book.custodians = [...book.custodians, ...custodians]
  return false
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
  target: RegisteredTarget,
): void {
  // Another answer may have been sooner, or a reorganization.
  if (answer.known <= book.known || query.known > book.known) return
  const added = found.filter(({ entry }) => entry >= book.known)
  const vacant = added.filter(({ address }) => address === zeroAddress).map(({ entry }) => entry)
  if (answer.known > ENTRIES_MAX || book.custodians.length + added.length > CUSTODIANS_MAX) {
    throw new UpstreamError(`Cannot read the custodians: registry ${book.registry.address} lists too many`)
  }
  Object.assign(book, {
    known: answer.known,
    last: answer.last,
    custodians: [...book.custodians, ...toCustodians(book, added, target)],
    vacancies: [...book.vacancies, ...new Set(vacant)],
  })
}

function toCustodians(
  { registry }: Book,
  found: readonly RawFound[],
  { deployments }: RegisteredTarget,
): Book['custodians'] {
  return found.flatMap(({ address, manager: row }) => {
    const manager = deployments[row]?.manager
    return manager === undefined || address === zeroAddress ? [] : [{ manager, custodian: { ...registry, address } }]
  })
}

function emptyBook(registry: Custodian): Book {
  return { registry, known: 0, last: zeroAddress, custodians: [], vacancies: [], isBehind: false }
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
