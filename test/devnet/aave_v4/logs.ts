import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, concatHex, type Hex, pad } from 'viem'
import type { HistoryLog } from '../../../src/history/stream.ts'

/** Logs of the spokes of a world, and what these stored of wallets at some of its blocks; `about` says how to read it. */
export interface LogVectors {
  readonly topics: Readonly<Record<string, Hex>>
  readonly spokes: readonly LoggedSpoke[]
  readonly logs: readonly (readonly [number, number, number, string, string, string])[]
  readonly states: readonly {
    readonly block: number
    readonly stored: readonly (readonly [number, Address, number, string, string, string, string])[]
    readonly spokes: readonly (readonly [number, number, string, string, string, string])[]
  }[]
}

export interface LoggedSpoke {
  readonly address: Address
  readonly name: string
  readonly reserves: readonly {
    readonly underlying: Address
    readonly decimals: number
    readonly symbol: string
    readonly price: string
  }[]
}

/** Reads the file of the repository. */
export function readLogVectors(): LogVectors {
  return JSON.parse(readFileSync(join(import.meta.dir, 'logs.json'), 'utf8')) as LogVectors
}

/** The logs of a spoke as histories have them, in their order. */
export function listLogs({ logs, spokes, topics }: LogVectors, spoke: LoggedSpoke): readonly HistoryLog[] {
  const toWords = (text: string) => text.split(' ').map((word) => pad(`0x${word}` as Hex, { size: 32 }))
  return logs.flatMap(([blockNumber, logIndex, index, topic, indexed, data]): HistoryLog[] => {
    if (spokes[index] !== spoke) return []
    const hash = pad(`0x${blockNumber.toString(16)}`, { size: 32 })
    return [
      {
        address: spoke.address.toLowerCase() as Hex,
        topics: [topics[topic] ?? '0x', ...toWords(indexed)],
        data: concatHex(toWords(data)),
        blockNumber,
        logIndex,
        blockHash: hash,
        transactionHash: hash,
        transactionIndex: 0,
        timestampSec: null,
      },
    ]
  })
}
