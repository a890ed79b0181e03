import { createReadStream } from 'node:fs'
import { isHttpUrl } from '../config/chains_file.ts'
import { readTextFile } from '../config/read_file.ts'
import { createWork } from '../lib/async/work.ts'
import { systemClock } from '../lib/clock.ts'
import { getErrnoCode } from '../lib/error.ts'
import { escapeLine } from '../lib/text/display_text.ts'
import { listDifferences } from '../receipt/differences.ts'
import { type PublishedKey, parseKeys } from '../receipt/keys.ts'
import type { Payload } from '../receipt/payload.ts'
import { createProofRunner } from '../receipt/proof/runner.ts'
import { CHECKS, type CheckResult, type VerificationResult, verifyReceipt } from '../receipt/verify.ts'
import { type Command, type CommandArgs, type CommandIo, usageError } from './command.ts'
import { print } from './print.ts'

const NOTHING_INDEPENDENT =
  'Nothing independent stands for the recorded answers: give --key, --rpc, or the --block-hash of a proven receipt'
/** Maximum length of a line of the report. */
const LINE_CHARS_MAX = 4_000
/** Maximum number of blocks in the report. */
const BLOCKS_MAX = 50
const INPUT_BYTES_MAX = 64 * 1024 * 1024
const KEYS_BYTES_MAX = 1_000_000
const KEYS_MS = 10_000
/** Time limit for all endpoints together, milliseconds. */
const LIMIT_MS = 600_000

const STATUS: Readonly<Record<CheckResult['is'], number>> = { true: 0, false: 1, unknown: 3 }
const WORDS: Readonly<Record<CheckResult['is'], string>> = { true: 'true', false: 'FALSE', unknown: 'cannot tell' }

/** `verify`: checks a receipt. Needs no database and no configuration. */
export const verifyCommand: Command = {
  name: 'verify',
  positionals: ['file'],
  lists: {
    rpc: 'endpoint of your choice that must return the same answers; may be repeated',
    'block-hash': '<chain id>:<hash> of a block that you trust; may be repeated',
  },
  options: {
    key: 'keys of the instance: a file, or the URL of its /.well-known/walletscope-keys.json',
    'chains-file': 'CHAINS_FILE to compare its settings with, instead of the built-in ones',
  },
  flags: { 'print-header': 'prints only the blocks that it was read at' },
  summary: 'Check a receipt: exit status 0 true, 1 false, 3 cannot tell',
  more: () => 'The file is an answer that was asked for with receipt=true, or - for standard input.',
  example: 'verify answer.json --rpc https://your-own',
  async run(args, io) {
    const lists = args.lists ?? {}
    const rpcUrls = lists['rpc'] ?? []
    if (!rpcUrls.every(isHttpUrl)) throw usageError('Cannot read --rpc: expected an http or https URL')
    const blockHashes = new Map((lists['block-hash'] ?? []).map(parseBlockHash))
    const chainsFile = args.options['chains-file']
    const rows = chainsFile === undefined ? undefined : readOptionFile(chainsFile, '--chains-file')
    const keys = await readKeys(args.options['key'])
    const text = await readInput(args.positionals[0] ?? '-', io)
    const work = createWork(AbortSignal.any([io.stop, systemClock.timeout(LIMIT_MS)]))
    const runner = createProofRunner()
    try {
      const verified = await verifyReceipt(text, { keys, rpcUrls, blockHashes, clock: systemClock, work, runner })
      printReport(verified, { args, io, rows })
      return STATUS[verified.is]
    } finally {
      runner.close()
    }
  },
}

function printReport(
  { payload, verdicts, isIndependent, is }: VerificationResult,
  { args, io, rows }: { readonly args: CommandArgs; readonly io: CommandIo; readonly rows: string | undefined },
): void {
  if (args.flags.has('print-header')) {
    const blocks =
      payload?.reads.map(({ chain_id, block }, at) => ({ chain_id, ...block, ...findHeader(payload, at) })) ?? []
    print(blocks, { args, io, text: blocks.map((block) => JSON.stringify(block)).join('\n') })
    return
  }
  const differences = payload === undefined ? [] : listDifferences(payload, rows)
  const receiptHead = payload && toReceiptHead(payload)
  const told = payload?.testimony ?? []
  const note = isIndependent || payload === undefined ? [] : [NOTHING_INDEPENDENT]
  print(
    { is, ...receiptHead, verdicts, notes: note, differences, uncovered: payload?.uncovered ?? [], testimony: told },
    {
      args,
      io,
      text: [
        ...(receiptHead === undefined
          ? []
          : [
              `Receipt ${receiptHead.id}, ${receiptHead.level}, issued ${receiptHead.issued_at}: ${receiptHead.request}`,
              ...receiptHead.blocks
                .slice(0, BLOCKS_MAX)
                .map(({ chain_id, number, time }) => `  chain ${chain_id} at block ${number} of ${time}`),
            ]),
        ...CHECKS.map(
          (check) => `${check.padEnd(10)} ${WORDS[verdicts[check].is].padEnd(12)} ${verdicts[check].because}`,
        ),
        differences.length === 0
          ? 'settings   as built in'
          : `settings   ${differences.length} differ from those built in:`,
        ...differences.map((line) => `  ${line}`),
        ...(payload?.uncovered.length
          ? [`Not covered by the replay (signature only): ${payload.uncovered.join(', ')}`]
          : []),
        ...told.map(({ chain_id, name, texts }) => {
          return `Told by histories (signature only): ${texts.length} ${name} of chain ${chain_id}`
        }),
        ...note,
      ]
        .map(toLine)
        .join('\n'),
    },
  )
}

/** Makes one line of a text that may be hostile: only its signer answers for a receipt, and no key may be given. */
function toLine(text: string): string {
  const line = escapeLine(text)
  return line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX)}…` : line
}

/** Returns the header of a proof, as RLP: a reader has to trust only its hash. */
function findHeader({ proofs }: Payload, at: number): { readonly header?: string } {
  const header = proofs?.[at]?.header
  return header === undefined ? {} : { header }
}

function toReceiptHead({ id, level, version, issued_at, request: { method, path, query }, reads }: Payload) {
  const blocks = reads.map(({ chain_id, block: { number, timestamp } }) => ({
    chain_id,
    number,
    time: toTime(timestamp),
  }))
  return { id, level, version, issued_at, request: `${method} ${path}${query === '' ? '' : `?${query}`}`, blocks }
}

function toTime(timestampSec: number): string {
  const date = new Date(timestampSec * 1_000)
  return Number.isNaN(date.getTime()) ? String(timestampSec) : date.toISOString()
}

function parseBlockHash(text: string): readonly [number, string] {
  const [, chainId, hash] = /^([1-9]\d{0,15}):(0x[0-9a-fA-F]{64})$/.exec(text) ?? []
  if (chainId === undefined || hash === undefined) {
    throw usageError('Cannot read --block-hash: expected <chain id>:<hash of a block>')
  }
  return [Number(chainId), hash]
}

async function readKeys(source: string | undefined): Promise<readonly PublishedKey[] | undefined> {
  if (source === undefined) return undefined
  const keys = parseKeys(isHttpUrl(source) ? await fetchText(source) : readOptionFile(source, '--key'))
  if (keys === undefined) throw usageError('Cannot read --key: expected keys as an instance publishes them')
  return keys
}

async function fetchText(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: systemClock.timeout(KEYS_MS) })
    const text = await response.text()
    if (response.ok && text.length <= KEYS_BYTES_MAX) return text
  } catch {
    // The address may hold a secret, so the error does not repeat it.
  }
  throw usageError('Cannot read --key: the address does not answer')
}

function readOptionFile(path: string, option: string): string {
  try {
    return readTextFile(path)
  } catch (error) {
    throw usageError(`Cannot read ${option}: ${getErrnoCode(error)}`)
  }
}

async function readInput(path: string, io: CommandIo): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of path === '-' ? io.stdin() : createReadStream(path)) {
      bytes += chunk.length
      if (bytes > INPUT_BYTES_MAX) break
      chunks.push(Buffer.from(chunk))
    }
  } catch (error) {
    throw usageError(`Cannot read the receipt: ${getErrnoCode(error)}`)
  }
  if (bytes > INPUT_BYTES_MAX) throw usageError('Cannot read the receipt: expected at most 64 MB')
  return Buffer.concat(chunks).toString()
}
