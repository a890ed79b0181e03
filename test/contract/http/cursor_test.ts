import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WRAPPER_TEXT } from '../../../src/http/openapi/client_wrapper.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { usdToRaw } from '../../devnet/scenario.ts'
import type { Answer } from '../../support/client.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { transferCall } from '../finance/token/balance/world.ts'
import { rowOver, type Stage, stageOver } from '../receipt/stage.ts'

const HOLDER = toWalletAddress('holds a list')
const STRANGER = toWalletAddress('holds another list')
const ASSETS = `/v1/portfolio/assets?wallet=${HOLDER}`
const POSITIONS = `/v1/positions/uniswap-v3?wallet=${HOLDER}`

let devnet: Devnet
let database: TestDatabase
let stage: Stage

beforeAll(async () => {
  devnet = await startDevnet()
  await devnet.morpho()
  await devnet.mintMany(HOLDER, 7)
  await devnet.send(
    Object.values(TOKENS).map((token, index) =>
      transferCall(token.address, { from: BANK, to: HOLDER, value: usdToRaw(token, 500 + index) }),
    ),
  )
  database = await testDatabase()
  stage = stageOver([rowOver([devnet.rpcUrl], { aaveV3: [] })], undefined, { db: database.db })
}, 120_000)

afterAll(async () => {
  await stage?.close()
  await database?.close()
  await devnet?.stop()
}, 60_000)

/** Path of the next piece of a list, by the header alone. */
function findNext({ headers }: Answer): string | undefined {
  return /^<https?:\/\/[^/]+([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
}

/** Imports what every printed client has besides its types. */
async function importClient() {
  const directory = mkdtempSync(join(tmpdir(), 'walletscope-client-'))
  try {
    writeFileSync(join(directory, 'client.ts'), WRAPPER_TEXT)
    return await import(join(directory, 'client.ts'))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Changes what the holder has, so that a list of now has other entries in another order. */
async function change(): Promise<void> {
  await devnet.send([
    transferCall(TOKENS.usdc.address, { from: BANK, to: HOLDER, value: usdToRaw(TOKENS.usdc, 900) }),
    transferCall(TOKENS.weth.address, { from: HOLDER, to: BANK, value: 1n }),
  ])
  await devnet.mintMany(HOLDER, 1)
}

async function readAll(path: string, between: () => Promise<void> = async () => {}): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let next: string | undefined = path; next !== undefined; next = findNext(answers.at(-1) as Answer)) {
    if (answers.length > 0) await between()
    const answer = await stage.get(next)
    expect([next, answer.status, answer.status === 200 ? '' : answer.text]).toEqual([next, 200, ''])
    answers.push(answer)
  }
  return answers
}

describe('a list by cursors', () => {
  test.each([ASSETS, POSITIONS])('is as of its first answer, whatever changes meanwhile: %s', async (path) => {
    const answers = await readAll(`${path}&limit=3`, change)
    expect(answers.length).toBeGreaterThan(2)
    const asOf = answers[0]?.headers.get('x-as-of') ?? ''
    expect(answers.map(({ headers }) => headers.get('x-as-of'))).toEqual(answers.map(() => asOf))
    const whole = await readAll(`${path}&limit=25&chain_id=1&at_block=${asOf.split(':')[1]}`)
    const listEntries = (all: readonly Answer[]) => all.flatMap(({ body }) => body.data)
    expect(listEntries(answers)).toEqual(listEntries(whole))
    expect((await stage.get(`${path}&limit=25`)).body.data).not.toEqual(listEntries(whole).slice(0, 25))
  })

  test('is a table too', async () => {
    const json = await stage.get(`${POSITIONS}&limit=5`)
    const answers = await readAll(`${findNext(json)}&format=csv`, change)
    const ids = answers.flatMap(({ text }) => text.split('\r\n').slice(1, -1)).map((line) => line.split(',')[0])
    const known = json.body.data.map((each: { readonly token_id: string }) => each.token_id)
    expect(known.length + ids.length).toBe(json.body.pagination.total)
    expect(new Set([...known, ...ids]).size).toBe(json.body.pagination.total)
  })

  test.each([ASSETS, POSITIONS])('is walked by the printed client, each entry once: %s', async (path) => {
    const { createClient } = await importClient()
    const answers: Answer[] = []
    const fetch = async (url: string) => {
      if (answers.length > 0) await change()
      const answer = await stage.get(url.replace('http://h', ''))
      answers.push(answer)
      return new Response(answer.text, { status: answer.status, headers: answer.headers })
    }
    const [template = '', query = ''] = path.split('?')
    const walked: unknown[] = []
    const client = createClient({ baseUrl: 'http://h', key: 'good', fetch })
    const params = { query: { ...Object.fromEntries(new URLSearchParams(query)), limit: 3 } }
    for await (const entry of client.each(template, { params })) walked.push(entry)
    expect(answers.length).toBeGreaterThan(2)
    const asOf = answers[0]?.headers.get('x-as-of') ?? ''
    const whole = await readAll(`${path}&limit=25&chain_id=1&at_block=${asOf.split(':')[1]}`)
    expect(walked).toEqual(whole.flatMap(({ body }) => body.data))
  })

  test('refuses a cursor of another list, one that was changed, and a page or a receipt beside it', async () => {
    const next = findNext(await stage.get(`${POSITIONS}&limit=3`)) ?? ''
    const cursor = new URLSearchParams(next.split('?')[1]).get('cursor') ?? ''
    for (const [path, says] of [
      [next.replace(HOLDER, STRANGER), 'expected one of this list'],
      [next.replace('limit=3', 'limit=4'), 'expected one of this list'],
      [next.replace(cursor, `${cursor.slice(0, -3)}AAA`), 'expected the one of a `Link'],
      [next.replace(cursor, 'AAAA'), 'expected the one of a `Link'],
      [`${next}&page=2`, 'expected no "page" beside it'],
      [`${next}&receipt=true`, 'expected none with "receipt"'],
      [`${next}&cursor=${cursor}`, 'expected it once'],
    ] as const) {
      const { status, body, headers } = await stage.get(path)
      expect([says, status, body.error?.code]).toEqual([says, 400, 'INVALID_PARAMETER'])
      expect(body.error.message).toStartWith(`Cannot read parameter "cursor": ${says}`)
      expect(headers.get('x-error-param')).toBe('cursor')
    }
  })

  test('ends with a refusal, charged nothing, where the block at which it began was replaced', async () => {
    const snapshot = await devnet.rpc.call('evm_snapshot')
    const { timestamp } = await devnet.client.getBlock()
    await devnet.rpc.call('evm_setNextBlockTimestamp', Number(timestamp) + 10)
    await devnet.rpc.call('evm_mine')
    const next = findNext(await stage.get(`${ASSETS}&limit=3`)) ?? ''
    await devnet.rpc.call('evm_revert', snapshot)
    await devnet.rpc.call('evm_setNextBlockTimestamp', Number(timestamp) + 20)
    await devnet.rpc.call('evm_mine')
    const { status, body, headers } = await stage.get(next)
    expect([status, body.error?.message]).toEqual([400, expect.stringContaining('the list has changed since it began')])
    expect(headers.get('x-credits-charged')).toBe('0')
  })
})
