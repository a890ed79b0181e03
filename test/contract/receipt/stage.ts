import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { type Hex, toFunctionSelector } from 'viem'
import { createChainClient } from '../../../src/chain/evm/evm_client.ts'
import { createDissentTracker } from '../../../src/chain/quorum/dissent_tracker.ts'
import { createQuorumClient } from '../../../src/chain/quorum/quorum_client.ts'
import { createSolanaClient } from '../../../src/chain/solana/client.ts'
import { readConfig } from '../../../src/config/config.ts'
import type { Database } from '../../../src/db/database.ts'
import { familyAliases } from '../../../src/family/mod.ts'
import { createHistory } from '../../../src/history/mod.ts'
import { openapiDocument } from '../../../src/http/openapi/document.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { createSigner, decodeEnvelopeText, type Envelope, type Signer } from '../../../src/lib/dsse.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { createRequestIdGenerator } from '../../../src/lib/request_id.ts'
import { createMcp } from '../../../src/mcp/gateway.ts'
import { createWalletNameReader } from '../../../src/portfolio/name/routes.ts'
import { createReceiptIssuer } from '../../../src/receipt/issuer.ts'
import type { PublishedKey } from '../../../src/receipt/keys.ts'
import { type Payload, parsePayload } from '../../../src/receipt/payload.ts'
import { createProofRunner } from '../../../src/receipt/proof/runner.ts'
import { type VerificationResult, verifyReceipt } from '../../../src/receipt/verify.ts'
import { createServiceRoutes } from '../../../src/service/routes.ts'
import { TOKENS } from '../../devnet/addresses.ts'
import { DEVNET_ROW } from '../../devnet/chain.ts'
import { type Answer, createClient } from '../../support/client.ts'
import { createTestServices } from '../../support/family.ts'
import { createMemoryGate, type MemoryGate } from '../../support/http/exchange/memory_gate.ts'
import { createPatientClock, slowClock } from '../../support/test_clock.ts'

/** A service without a database over some endpoints of one devnet. */
export interface Stage {
  readonly gate: MemoryGate
  readonly signer: Signer
  /** JSON-RPC requests so far, but for checks of the chain's id. */
  readonly requests: string[]
  get(path: string, key?: string): Promise<Answer>
  post(path: string, body: unknown): Promise<Answer>
  /** Stops background work. */
  close(): Promise<void>
  /** Body of a tool's answer. */
  tool(name: string, given: object): Promise<Answer['body']>
}

/** The row of the devnet, with a feed for every token. */
export function rowOver(rpcUrls: readonly string[], more: object = {}) {
  const usdFeeds = Object.fromEntries(
    Object.values(TOKENS).map(({ address, feed }) => [address, { feed, heartbeatSec: 86_400 }]),
  )
  return { ...DEVNET_ROW, rpcUrls, reuseMs: 0, prices: { usdFeeds, stablecoins: [], wrappers: [] }, ...more }
}

/** A key made anew. */
export function newSigner(): Signer {
  return createSigner(generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }))
}

/** Runs the proofs of all tests of a file. */
export const runner = createProofRunner()

/** Serves rows of a `CHAINS_FILE`, Solana if it has an endpoint, and what is stored if there is a database. */
export function stageOver(
  rows: readonly object[],
  signer: Signer = newSigner(),
  {
    solanaUrl,
    db,
    databaseNow = systemClock.now,
  }: { readonly solanaUrl?: string; readonly db?: Database; readonly databaseNow?: () => number } = {},
): Stage {
  const text = JSON.stringify({ chains: rows, ...(solanaUrl && { solana: { rpcUrls: [solanaUrl] } }) })
  const ids = [...rows.map((row) => ('id' in row ? String(row.id) : '')), ...(solanaUrl ? ['101'] : [])]
  const config = readConfig({ CHAINS_FILE: 'rows', CHAINS: ids.join() }, () => text)
  const requests: string[] = []
  const counting = (url: string, init: RequestInit): Promise<Response> => {
    const { method } = JSON.parse(String(init.body)) as { readonly method: string }
    if (method !== 'eth_chainId') requests.push(method)
    return fetch(url, init)
  }
  const clock = slowClock
  const metrics = createMetrics()
  const dissents = createDissentTracker({ metrics, clock, log: silentLog })
  const clients = config.chains.map((chain) => {
    const client = createChainClient({ chain, clock: createPatientClock(), log: silentLog, fetch: counting })
    const { id, quorum = 1 } = chain
    return quorum === 1 ? client : createQuorumClient(client, { quorum, dissent: dissents.recorder(id) })
  })
  const solana = solanaUrl
    ? createSolanaClient({ ...config.solana, clock: createPatientClock(), log: silentLog, fetch: counting })
    : undefined
  const byId = new Map(clients.map((client) => [client.chain.id, client]))
  const past = db && {
    db,
    history: createHistory({ clients: byId, db, clock, log: silentLog, holder: 'test' }),
  }
  const services = createTestServices({ clients, solana, clock: slowClock, ...past })
  const routes = createServiceRoutes(config, () => services)
  const rich = { id: 'org_rich', credits: 10n ** 9n, limit: 100_000 }
  const poor = { id: 'org_poor', credits: 3n, limit: 100_000 }
  const gate = createMemoryGate({ now: databaseNow, keys: { rich, poor } })
  const app = createApp({
    routes,
    aliases: familyAliases(config.families),
    gate,
    gateway: createMcp({ routes, origins: [], sessionId: () => crypto.randomUUID(), clock }),
    readName: createWalletNameReader({ connect: () => services }),
    receiptIssuer: createReceiptIssuer({
      config,
      connect: () => services,
      signer: async () => signer,
      clock,
      runner,
    }),
    clock,
    log: silentLog,
    metrics,
    hostNames: ['test.local'],
    corsOrigins: [],
    openapi: () => openapiDocument({ routes }),
    probes: { database: async () => true, chains: new Map(), quorum: dissents.report },
    requestId: createRequestIdGenerator({ clock, fill: (bytes) => crypto.getRandomValues(bytes) }),
  })
  const call = createClient(app.handler)
  return {
    gate,
    signer,
    requests,
    get: (path, key = 'rich') => call(path, { key }),
    close: async () => past?.history.close(),
    post: (path, body) => call(path, { key: 'rich', method: 'POST', body: JSON.stringify(body) }),
    async tool(name, given) {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: given },
      })
      const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
      const answer = await call('/mcp', { key: 'rich', method: 'POST', body, headers })
      return JSON.parse(answer.body.result.content[0].text)
    },
  }
}

const MULTICALL = toFunctionSelector('function read(address[] targets, bytes[] questions)')
/** Digits of an answer before its first result: those of the header of `page.sol`. */
const HEADER_CHARS = 2 + 2 * (1 + 8 + 8 + 8 + 32 + 4)

/** Flag and length of the result of a contract that refuses without a byte. */
const REFUSED = '000000'

/** True for the call that asks which contracts exist at a block. */
export function isExistenceCall({ data }: { readonly data: Hex }): boolean {
  return data.startsWith(MULTICALL)
}

/** What the first contract of that call did, in digits: it answered nothing, as without code, or refused with a byte. */
type FirstResult = '010000' | '000001ff'

/** Changes the result of the first contract, which refused the call without a byte. */
export function changeFirstResult(answer: string, result: FirstResult): Hex {
  const [header, results] = [answer.slice(0, HEADER_CHARS), answer.slice(HEADER_CHARS)]
  if (!results.startsWith(REFUSED)) throw new Error('Expected a contract that refuses the call')
  return `${header}${result}${results.slice(REFUSED.length)}` as Hex
}

/** Encodes a receipt as a file. */
export function encodeReceipt(receipt: Envelope): string {
  return JSON.stringify(receipt)
}

/** Decodes the payload of a receipt. Throws for anything else. */
export function decodePayload(receipt: Envelope): Payload {
  const payload = parsePayload(JSON.parse(decodeEnvelopeText(receipt) ?? ''))
  if (payload === undefined) throw new Error('Expected a payload')
  return payload
}

/** The key of a stage as an instance would publish it. */
export function published({ signer }: Pick<Stage, 'signer'>, times: Partial<PublishedKey> = {}): PublishedKey {
  return { keyId: signer.keyId, key: createPublicKey(signer.key), fromSec: 0, ...times }
}

/** Verifies a file with the key of the stage. */
export function checked(
  stage: Pick<Stage, 'signer'>,
  text: string,
  rpcUrls: readonly string[] = [],
  blockHashes: ReadonlyMap<number, string> = new Map(),
): Promise<VerificationResult> {
  const work = createWork(new AbortController().signal)
  const clock = createPatientClock()
  return verifyReceipt(text, { keys: [published(stage)], rpcUrls, blockHashes, clock, work, runner })
}
