import packageJson from '../../../package.json' with { type: 'json' }
import { type Cited, createCitingClient } from '../../chain/receipt/citing.ts'
import { type Signer, seal } from '../../chain/receipt/envelope.ts'
import type { ProofRunner } from '../../chain/receipt/proof/runner.ts'
import type { ChainRecord, LensQuestion, RecordedCall } from '../../chain/receipt/record.ts'
import { createRecorder, UnrecordableError } from '../../chain/receipt/recorder.ts'
import type { ConfiguredFamily, Family, FamilyServices } from '../../family/family.ts'
import { FAMILIES } from '../../family/mod.ts'
import type { FinanceChain, FinanceClient } from '../../finance/chain.ts'
import type { Notary, ReceiptKind, Statement } from '../../http/route/receipt.ts'
import type { Answer, ReadContext } from '../../http/route/route.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import { once, onceEach } from '../../lib/once_each.ts'
import { createRecent } from '../../lib/recent.ts'
import type { Config } from '../config/config.ts'
import { answerAgain, callOf, statedBy } from './again.ts'
import { PAYLOAD_TYPE, type Payload, readOf, type StatedAnswer, uncoveredOf } from './payload.ts'
import { createProver, type Proofs } from './prove.ts'
import { type ReadSettings, readSettings, settingsOf } from './settings.ts'

/** Answers to agents that are kept until the next block. */
const CITED_MAX = 1_000
const NOTHING_ASKED: ReadonlyMap<RecordedCall, LensQuestion> = new Map()

/** An answer as it is stated, and what it was made from. */
interface Sought {
  readonly statement: Statement
  readonly records: readonly ChainRecord[]
  readonly stated: StatedAnswer
}

interface NotaryOptions {
  readonly config: Pick<Config, 'chains' | 'families'> & { readonly solana: Pick<Config['solana'], 'rpcUrls'> }
  readonly connect: () => FamilyServices
  /** Who signs. Throws `UnavailableError` while the key cannot be read. */
  readonly signer: () => Promise<Signer>
  readonly clock: Clock
  readonly runner: ProofRunner
  /** Those that the program knows. */
  readonly known?: readonly Family[]
}

/**
 * Makes receipts. The answer is made by routes of its own, over clients that note what they read; then by routes over
 * nothing but the notes and the settings as the receipt has them. Only if both answers are the same it leaves.
 */
export function createNotary({ config, connect, signer, clock, runner, known = FAMILIES }: NotaryOptions): Notary {
  const { families, chains, solana } = config
  const prover = createProver({ runner, clock })

  function familyOf({ path }: Statement): ConfiguredFamily {
    const family = families.find(({ name }) => name === path.split('/')[3])
    if (family === undefined) throw new Error(`Cannot find the family of ${path}`)
    return family
  }

  /** The answer of routes of its own, over these clients. */
  async function answerOver(noting: readonly FinanceClient[], statement: Statement, context: ReadContext) {
    const services = connect()
    const clients = new Map(noting.map((client) => [client.chain.id, client]))
    const routes = familyOf(statement).routes({
      chainIds: chains.map(({ id }) => id),
      servesSolana: solana.rpcUrls.length > 0,
      connect: () => ({ ...services, clients }),
    })
    const call = await callOf(routes, statement)
    return await call.read(context)
  }

  async function recording(statement: Statement, context: ReadContext) {
    const recorders = [...connect().clients.values()].map((client) => createRecorder(client))
    const noting = recorders.map(({ client }) => client)
    const answer = await answerOver(noting, statement, context)
    const records = recorders.flatMap(({ client, record }) => recordOf(client.chain, record))
    return { answer, records }
  }

  /** Answers that say what they were read from, while their blocks are the newest. */
  const cited = createRecent<Answer>({ entriesMax: CITED_MAX })

  /** Settings of every chain of a family as a verifier reads them from a receipt. */
  const settled = onceEach((family: ConfiguredFamily) => {
    const mine = chains.filter(({ id }) => family.settings.has(id))
    const definition = known.find(({ name }) => name === family.name)
    const readWith = (prices: boolean) => {
      const read = definition && readSettings(definition, settingsOf(family, mine, { prices }))
      if (read === undefined || 'mistakes' in read) throw new Error(`Cannot read the settings of ${family.name}`)
      return read
    }
    return { with: once(() => readWith(true)), without: once(() => readWith(false)) }
  })

  /** Families whose answers need the prices of a chain's row, as far as is known, or have their own. */
  const priced = new Set(families.filter(({ hasOwnPrices }) => hasOwnPrices === true))

  /** The calls that an answer is counted again from by these settings. Throws `UpstreamError` if it comes otherwise. */
  async function counted(
    { family, chains: all }: ReadSettings,
    { statement, records, stated }: Sought,
  ): Promise<ReadonlyMap<RecordedCall, LensQuestion>> {
    const read = new Map([...all].filter(([id]) => records.some(({ chainId }) => chainId === id)))
    const { answer, asked, faults } = await answerAgain({ family, chains: read }, { statement, records, clock })
    const [fault = 'the answer depends on more than was read'] = faults
    if (faults.length > 0 || JSON.stringify(answer) !== JSON.stringify(stated)) throw new UpstreamError(fault)
    return asked
  }

  /** Throws `UnavailableError` if a verifier would not come to the same. */
  async function verified(statement: Statement, records: readonly ChainRecord[], answer: Answer) {
    const family = familyOf(statement)
    const stated = statedBy(answer, statement)
    const read = chains.filter(({ id }) => records.some(({ chainId }) => chainId === id))
    const settings = (prices: boolean) => settingsOf(family, read, { prices })
    if (family.network === 'solana') return { family, stated, settings: settings(true), asked: NOTHING_ASKED }
    const sought = { statement, records, stated }
    if (!priced.has(family)) {
      // Hundreds of feeds that decided nothing would only be in a reader's way.
      const asked = await counted(settled(family).without(), sought).catch(() => undefined)
      if (asked !== undefined) return { family, stated, settings: settings(false), asked }
    }
    const asked = await counted(settled(family).with(), sought).catch((cause: unknown) => {
      // What an attempt found that failed later is in no record.
      throw cause instanceof UpstreamError ? refused(read, cause.message) : cause
    })
    priced.add(family)
    return { family, stated, settings: settings(true), asked }
  }

  async function receipted(
    statement: Statement,
    { kind, id }: { readonly kind: ReceiptKind; readonly id: string },
    context: ReadContext,
  ): Promise<Answer> {
    const { answer, records } = await recording(statement, context)
    const { family, stated, settings, asked } = await verified(statement, records, answer)
    const { name, revision, network } = family
    const proofs = kind === 'proof' ? await proofsOf(records, asked, context) : undefined
    const level = network === 'solana' ? 'signed' : levelOf(records, proofs)
    const payload: Payload = {
      id: `rcp_${id}`,
      issued_at: new Date(clock.now()).toISOString(),
      version: packageJson.version,
      level,
      request: {
        method: statement.method === 'POST' ? 'POST' : 'GET',
        path: statement.path,
        query: statement.query,
        ...bodyOf(statement),
      },
      family: { name, revision },
      answer: stated,
      uncovered: uncoveredOf(level),
      reads: records.map(readOf),
      ...(proofs === undefined ? {} : { proofs }),
      settings,
    }
    const receipt = seal(PAYLOAD_TYPE, JSON.stringify(payload), await signer())
    return { ...answer, untilMs: 0, present: (presenting) => ({ ...answer.present(presenting), receipt }) }
  }

  async function proofsOf(
    records: readonly ChainRecord[],
    asked: ReadonlyMap<RecordedCall, LensQuestion>,
    { signal }: ReadContext,
  ): Promise<Proofs> {
    const { clients } = connect()
    const proving = records.flatMap((record) => {
      const client = clients.get(record.chainId)
      return client === undefined ? [] : [{ client, record, asked }]
    })
    return await prover.all(proving, signal)
  }

  return {
    receipted: (statement, wanted) => async (context) => {
      const work = () => receipted(statement, wanted, context)
      return wanted.kind === 'proof' ? await prover.alone(context.organizationId, work) : await work()
    },
    cited(statement) {
      if (familyOf(statement).network === 'solana') return undefined
      return async (context) => {
        const name = JSON.stringify(statement)
        const before = cited.get(name)
        if (before !== undefined && before.untilMs > clock.monotonicMs()) return before
        const citing = [...connect().clients.values()].map((client) => createCitingClient(client))
        const noting = citing.map(({ client }) => client)
        const answer = await answerOver(noting, statement, context)
        const citation = citing.flatMap((each) => each.cited().map(presentCited))
        const made: Answer = { ...answer, present: (presenting) => ({ ...answer.present(presenting), citation }) }
        if (made.untilMs > clock.monotonicMs()) cited.set(name, made)
        return made
      }
    },
  }
}

function presentCited({ block: { chainId, number, hash, parentHash }, lens, call, answer }: Cited) {
  return {
    chain_id: chainId,
    block_number: Number(number),
    ...(hash === undefined ? {} : { block_hash: hash }),
    parent_hash: parentHash,
    lens,
    call,
    answer,
  }
}

function bodyOf({ body }: Statement): { readonly body?: unknown } {
  return body === undefined ? {} : { body }
}

function levelOf(records: readonly ChainRecord[], proofs: Proofs | undefined): Payload['level'] {
  if (proofs !== undefined) return 'proven'
  return records.length > 0 && records.every(({ agreed }) => agreed > 1) ? 'agreed' : 'replayable'
}

/** Throws `UnavailableError` if nobody else would read the same. */
function recordOf(chain: FinanceChain, record: () => ChainRecord | undefined): readonly ChainRecord[] {
  try {
    return [record()].filter((each) => each !== undefined)
  } catch (error) {
    if (error instanceof UnrecordableError) throw refused([chain], error.message)
    throw error
  }
}

function refused(chains: readonly FinanceChain[], because: string): UnavailableError {
  const named = chains.map(({ id, name }) => `${id} (${name})`).join(', ')
  return new UnavailableError(`Cannot give a receipt for chain ${named} because ${because}`)
}
