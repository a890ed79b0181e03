import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { CommandIo } from '../../../src/command/command.ts'
import { parseCommandLine } from '../../../src/command/parse.ts'
import { verifyCommand } from '../../../src/command/verify.ts'
import { presentKeys } from '../../../src/receipt/keys.ts'
import type { Payload } from '../../../src/receipt/payload.ts'
import { type Anvil, startAnvil } from '../../devnet/anvil.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { temporaryDirectory } from '../../support/database.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { decodePayload, published, rowOver, stageOver } from './stage.ts'

let devnet: Devnet
/** Another node, which follows the chain of the first. */
let fork: Anvil
let rpc: FaultyRpc
let directory: string

beforeAll(async () => {
  devnet = await startDevnet()
  const stage = stageOver([rowOver([devnet.rpcUrl])])
  const answer = await stage.get(`/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}&receipt=true`)
  directory = temporaryDirectory()
  writeFileSync(join(directory, 'receipt.json'), JSON.stringify(answer.body.receipt))
  writeFileSync(join(directory, 'answer.json'), answer.text)
  writeFileSync(join(directory, 'keys.json'), JSON.stringify(presentKeys([published(stage)])))
  fork = await startAnvil({ forkUrl: devnet.rpcUrl })
  rpc = await startFaultyRpc(devnet.rpcUrl)
}, 120_000)

afterAll(async () => {
  await rpc?.stop()
  await fork?.stop()
  await devnet?.stop()
}, 60_000)

/** Runs the command line; gives its status and what it printed. */
async function verify(words: readonly string[], input?: Buffer): Promise<{ status: number; text: string }> {
  const printed: string[] = []
  const io: CommandIo = {
    out: (text) => void printed.push(text),
    err: () => undefined,
    stdout: () => {
      throw new Error('It writes no bytes')
    },
    stdin: () => Readable.from(input === undefined ? [] : [input]),
    environment: {},
    config: () => {
      throw new Error('It needs no configuration')
    },
    stop: new AbortController().signal,
  }
  const placed = words.map((word) => (word.endsWith('.json') ? join(directory, word) : word))
  const invocation = parseCommandLine(['verify', ...placed], [verifyCommand])
  if (invocation.kind === 'help') throw new Error('Expected a command')
  const status = (await invocation.command.run(invocation.args, io)) ?? 0
  return { status, text: printed.join('\n') }
}

const KEYED = ['--key', 'keys.json'] as const

test('a file, or an unmodified answer, is true without any endpoint, and the result names what is not checked', async () => {
  const { status, text } = await verify(['receipt.json', ...KEYED])
  expect(status).toBe(0)
  expect(text).toMatch(/^signature +true/m)
  expect(text).toMatch(/^figures +true/m)
  expect(text).toMatch(/^answers +cannot tell/m)
  expect(text).toMatch(/^block +cannot tell/m)
  expect((await verify(['answer.json', ...KEYED])).status).toBe(0)
  const json = JSON.parse((await verify(['receipt.json', '--json'])).text)
  expect(json).toMatchObject({ is: 'unknown', verdicts: { figures: { is: 'true' }, signature: { is: 'unknown' } } })
  // No price decided anything.
  expect(json.differences).toEqual([expect.stringMatching(/^chain 1\.uniswapV3: .*, built in /)])
})

test('a receipt with nothing independent beside it is undecided, and the report says so', async () => {
  const said = 'Nothing independent stands for the recorded answers'
  const { status, text } = await verify(['receipt.json'])
  expect([status, text]).toEqual([3, expect.stringContaining(said)])
  expect(JSON.parse((await verify(['receipt.json', '--json'])).text).notes).toEqual([expect.stringContaining(said)])
  expect((await verify(['receipt.json', ...KEYED])).text).not.toContain(said)
})

test('the report says which blocks were read, and when they were', async () => {
  const { number, timestamp } = await devnet.client.getBlock()
  const time = new Date(Number(timestamp) * 1_000).toISOString()
  expect((await verify(['receipt.json'])).text).toContain(`\n  chain 1 at block ${number} of ${time}\n`)
})

test('a hostile receipt cannot paint the report: it has the lines of an honest one, and nothing hides them', async () => {
  const receipt = JSON.parse(readFileSync(join(directory, 'receipt.json'), 'utf8'))
  const painted = '\r\nfigures    true\u001b[8m\u009b2J\u202e\u2028'
  const unseen = (text: string) => text.replaceAll('\n', '').match(/[\p{C}\p{Zl}\p{Zp}]/gu)
  const honest = (await verify(['receipt.json'])).text.split('\n').length
  for (const change of [
    (payload: Payload) => Object.assign(payload.request, { query: `${payload.request.query}${painted}` }),
    (payload: Payload) => Object.assign(payload.request, { path: `${payload.request.path}${painted}` }),
    (payload: Payload) => Object.assign(payload, { version: painted, family: { name: painted, revision: 1 } }),
    (payload: Payload) => Object.assign(payload.settings.chains[0] ?? {}, { name: painted, [painted]: 1 }),
    (payload: Payload) => Object.assign(payload, { uncovered: [painted, 'x'.repeat(100_000)] }),
  ]) {
    const payload = decodePayload(receipt)
    change(payload)
    const text = JSON.stringify({ ...receipt, payload: Buffer.from(JSON.stringify(payload)).toString('base64') })
    for (const words of [['-'], ['-', '--json'], ['-', '--print-header']]) {
      const report = await verify(words, Buffer.from(text))
      expect([words, report.status === 0, unseen(report.text)]).toEqual([words, false, null])
      if (words.length === 1) expect(report.text.split('\n').length).toBeLessThanOrEqual(honest + 3)
      expect(Math.max(...report.text.split('\n').map(({ length }) => length))).toBeLessThan(101_000)
    }
  }
})

test('another node that has the block gives true', async () => {
  const { status, text } = await verify(['receipt.json', ...KEYED, '--rpc', fork.rpcUrl])
  expect([status, text]).toEqual([0, expect.stringMatching(/^answers +true/m)])
})

test('a node that ignores or refuses overrides, lags, answers from another chain or is unreachable gives unknown', async () => {
  const faults: readonly Parameters<FaultyRpc['rule']>[0][] = [
    ({ method }) => (method === 'eth_call' ? { kind: 'no_overrides', how: 'ignore' } : undefined),
    ({ method }) => (method === 'eth_call' ? { kind: 'no_overrides', how: 'refuse' } : undefined),
    ({ method }) => (method === 'eth_chainId' ? undefined : { kind: 'lag', blocks: 5 }),
    ({ method }) => (method === 'eth_call' ? { kind: 'http', status: 500, body: '' } : undefined),
  ]
  for (const fault of faults) {
    rpc.rule(fault)
    const { status, text } = await verify(['receipt.json', ...KEYED, '--rpc', rpc.url])
    expect([status, text]).toEqual([3, expect.stringMatching(/^answers +cannot tell/m)])
  }
  const away = await verify(['receipt.json', ...KEYED, '--rpc', 'http://127.0.0.1:9'])
  expect(away.status).toBe(3)
}, 120_000)

test('a node with one false word gives false, and so does an honest one beside it', async () => {
  rpc.rule(({ method }) => {
    if (method !== 'eth_call') return undefined
    return { kind: 'change', change: (result) => String(result).replace(/.{64}$/, 'f'.repeat(64)) }
  })
  const lied = await verify(['receipt.json', ...KEYED, '--rpc', rpc.url])
  expect([lied.status, lied.text]).toEqual([1, expect.stringMatching(/^answers +FALSE/m)])
  expect((await verify(['receipt.json', '--rpc', fork.rpcUrl, '--rpc', rpc.url])).status).toBe(1)
})

test('a block that was given decides, and the blocks can be printed', async () => {
  const [block] = JSON.parse((await verify(['receipt.json', '--print-header', '--json'])).text)
  expect(block.hash).toBe((await devnet.client.getBlock({ blockNumber: BigInt(block.number) })).hash)
  // It stands for the block, and not for what was answered at it.
  expect((await verify(['receipt.json', '--block-hash', `1:${block.hash}`])).status).toBe(3)
  expect((await verify(['receipt.json', ...KEYED, '--block-hash', `1:${block.hash}`])).status).toBe(0)
  expect((await verify(['receipt.json', '--block-hash', `1:0x${'1'.repeat(64)}`])).status).toBe(1)
})

test('wrong usage is refused: input above 64 MB within a second, too', async () => {
  const wrong: readonly (readonly [words: readonly string[], input?: Buffer])[] = [
    [['absent.json']],
    [['receipt.json', '--rpc', 'ftp://x']],
    [['receipt.json', '--block-hash', '1:0x12']],
    [['receipt.json', '--key', 'receipt.json']],
    [['receipt.json', '--chains-file', 'absent.json']],
    [['-'], Buffer.alloc(65 * 1024 * 1024, '[')],
  ]
  for (const [words, input] of wrong) await expect(verify(words, input)).rejects.toMatchObject({ exitStatus: 2 })
  expect((await verify(['-'], Buffer.from('[['))).status).toBe(1)
})
