import { type Hex, numberToHex } from 'viem'
import { BASE_SEC, BLOCK_SEC, type Block, createReceipts, listLogs, toTimeSec } from './blocks.ts'
import { bendHead, bendLogTime, FALSE_HASH, type Lie, phantom } from './liar.ts'

/** A node of a simulated chain over JSON-RPC. */
export interface Node {
  /** What it lies about; undefined: it is honest. */
  lie: Lie | undefined
  answer(request: { readonly method: string; readonly params: readonly unknown[] }): unknown
}

/** What a node says that refuses a method. */
export const REFUSED = { code: -32_601, message: 'the method does not exist/is not available' }

/** Blocks below the head that are final. */
export const FINAL_DEPTH = 10

/** A node that knows the chain up to the time of the clock. */
export function makeNode(
  chain: readonly Block[],
  options: { readonly nowSec: () => number; readonly givesTimes: boolean },
): Node {
  const { nowSec, givesTimes } = options
  const trueHead = () => Math.min(chain.length - 1, Math.floor((nowSec() - BASE_SEC) / BLOCK_SEC))
  const timeIn = (lie: Lie | undefined, { number }: Block) => (givesTimes ? bendLogTime(lie, number) : undefined)

  function createBlock(number: number, how: 'true' | 'false'): Block | undefined {
    if (number > trueHead()) return undefined
    return (how === 'false' ? node.lie?.blocks.get(number) : undefined) ?? chain[number]
  }

  function createHeader(number: number): unknown {
    const { lie } = node
    if (lie?.head === 'high' && number > trueHead()) return phantom(number, nowSec())
    if (lie?.head === 'low' && number > bendHead(lie, trueHead())) return null
    const block = createBlock(number, lie?.headers === 'true' ? 'true' : 'false')
    return block === undefined ? null : { ...block.header, transactions: block.transactions.map(({ hash }) => hash) }
  }

  function named(name: unknown): unknown {
    const { lie } = node
    if (name === 'latest') {
      const header = createHeader(bendHead(lie, trueHead())) as object
      return lie?.head === 'low' ? { ...header, timestamp: numberToHex(toTimeSec(trueHead())) } : header
    }
    if (name !== 'finalized') return createHeader(Number(name))
    const final = trueHead() - FINAL_DEPTH
    if (lie?.final === 'high') return phantom(final + 1_000_000_000, nowSec())
    const header = createHeader(lie?.final === 'low' ? Math.floor(final / 4) : final) as object | null
    return lie?.final === 'hash' && header !== null ? { ...header, hash: numberToHex(0xf, { size: 32 }) } : header
  }

  function byHash(hash: unknown): unknown {
    const found = chain.find(({ header }) => header.hash === hash)
    const made = [...(node.lie?.blocks.values() ?? [])].find(({ header }) => header.hash === hash)
    const block = found ?? made
    if (block === undefined || block.number > trueHead()) return null
    const header = createHeader(block.number) as object
    const { grandparent = 'true', blocks } = node.lie ?? {}
    if (grandparent === 'true' || block.number !== trueHead() - 1) return header
    if (grandparent === 'refused') return { error: REFUSED }
    return { ...header, parentHash: blocks?.get(block.number - 1)?.header.hash ?? FALSE_HASH }
  }

  function logs(filter: Filter): unknown {
    const { lie } = node
    const how = lie?.logs ?? 'true'
    const numbers =
      filter.blockHash === undefined
        ? span(Number(filter.fromBlock), Math.min(Number(filter.toBlock), trueHead()))
        : [Number((byHash(filter.blockHash) as { readonly number?: Hex } | null)?.number ?? -1)]
    if (numbers[0] === -1) return { error: { code: -32_000, message: 'unknown block' } }
    const wanted = filter.topics.map((each) => (each === null ? undefined : [each].flat()))
    return numbers.flatMap((number) => {
      const block = createBlock(number, how)
      const given = block === undefined ? [] : listLogs(block, timeIn(lie, block))
      return given.filter(({ topics }) => wanted.every((each, at) => each?.includes(topics[at] ?? '0x') ?? true))
    })
  }

  function receipt(hash: unknown): unknown {
    const how = node.lie?.receipts ?? 'true'
    if (how === 'none' && [...(node.lie?.blocks.keys() ?? [])].some((number) => holds(chain[number], hash))) return null
    for (let number = 0; number <= trueHead(); number++) {
      const block = createBlock(number, how === 'false' ? 'false' : 'true')
      const at = block?.transactions.findIndex((each) => each.hash === hash) ?? -1
      if (block !== undefined && at >= 0) return createReceipts(block, timeIn(node.lie, block))[at]
    }
    return null
  }

  function blockReceipts(number: number): unknown {
    const how = node.lie?.blockReceipts ?? 'true'
    if (how === 'refused') return { error: REFUSED }
    const block = createBlock(number, how)
    return block === undefined ? null : createReceipts(block, timeIn(node.lie, block))
  }

  const node: Node = {
    lie: undefined,
    answer({ method, params }) {
      if (method === 'eth_getBlockByNumber') return named(params[0])
      if (method === 'eth_getBlockByHash') return byHash(params[0])
      if (method === 'eth_getLogs') return logs(params[0] as Filter)
      if (method === 'eth_getTransactionReceipt') return receipt(params[0])
      if (method === 'eth_getBlockReceipts') return blockReceipts(Number(params[0]))
      return { error: REFUSED }
    },
  }
  return node
}

interface Filter {
  readonly fromBlock?: Hex
  readonly toBlock?: Hex
  readonly blockHash?: Hex
  readonly topics: readonly (Hex | readonly Hex[] | null)[]
}

function span(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
}

function holds(block: Block | undefined, hash: unknown): boolean {
  return block?.transactions.some((each) => each.hash === hash) ?? false
}
