import { expect, test } from 'bun:test'
import { concatHex, type Hex, numberToHex, pad, toEventSelector, zeroAddress } from 'viem'
import { decodeLogs } from '../../../../src/family/vaults/event/decode.ts'
import type { HistoryLog } from '../../../../src/history/stream.ts'

const VAULT: Hex = `0x${'aa'.repeat(20)}`
const [WALLET, OTHER]: readonly [Hex, Hex] = [`0x${'b1'.repeat(20)}`, `0x${'b2'.repeat(20)}`]
const TARGET = { chainId: 1, contract: VAULT, startBlock: 0 }
const DEPOSIT = toEventSelector('Deposit(address,address,uint256,uint256)')
const WITHDRAW = toEventSelector('Withdraw(address,address,address,uint256,uint256)')
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const TRANSACTION = pad('0x7a')

type Event = readonly [topic: Hex, addresses: readonly Hex[], words: readonly bigint[]]

/** Logs of one transaction, in their order. */
function toLogs(events: readonly Event[]): HistoryLog[] {
  return events.map(([topic, addresses, words], logIndex) => ({
    address: VAULT,
    topics: [topic, ...addresses.map((each) => pad(each))],
    data: concatHex(words.map((word) => numberToHex(word, { size: 32 }))),
    blockNumber: 5,
    blockHash: pad('0x05'),
    transactionHash: TRANSACTION,
    transactionIndex: 0,
    logIndex,
    timestampSec: null,
  }))
}

const decode = (events: readonly Event[], receipt?: readonly Event[]) => {
  const receipts = new Map(receipt === undefined ? [] : [[TRANSACTION, toLogs(receipt)] as const])
  const { rows, unsettled } = decodeLogs(TARGET, toLogs(events), { subjects: [WALLET], receipts })
  return { rows: rows.map(({ kind, shares, assets, logIndex }) => [kind, shares, assets, logIndex]), unsettled }
}

const made = (shares: bigint, to = WALLET): Event => [TRANSFER, [zeroAddress, to], [shares]]
const deposited = (assets: bigint, shares: bigint): Event => [DEPOSIT, [OTHER, WALLET], [assets, shares]]

test('deposits of one transaction each take their own shares, before or behind their events', () => {
  const events = [made(7n), deposited(70n, 7n), deposited(71n, 7n), made(7n)]
  expect(decode(events)).toEqual({
    rows: [
      ['deposit', 7n, 70n, 1],
      ['deposit', 7n, 71n, 2],
    ],
    unsettled: [],
  })
})

test('shares that are made without a deposit wait for the receipt, which tells of a log that was missing', () => {
  const events = [made(7n), made(3n)]
  expect(decode(events)).toEqual({ rows: [], unsettled: [TRANSACTION] })
  expect(decode(events, events).rows).toEqual([
    ['receive', 7n, undefined, 0],
    ['receive', 3n, undefined, 1],
  ])
  expect(decode(events, [made(7n), made(3n), deposited(70n, 7n)]).rows).toEqual([
    ['receive', 3n, undefined, 1],
    ['deposit', 7n, 70n, 2],
  ])
  // Those of others are no matter of the wallet's.
  expect(decode([made(7n, OTHER)])).toEqual({ rows: [], unsettled: [] })
})

test('a withdrawal that the vault pays to itself is a penalty, and empty moves are left out', () => {
  const gone = (shares: bigint): Event => [TRANSFER, [WALLET, zeroAddress], [shares]]
  const events: readonly Event[] = [
    gone(4n),
    [WITHDRAW, [OTHER, VAULT, WALLET], [40n, 4n]],
    gone(5n),
    [WITHDRAW, [OTHER, OTHER, WALLET], [50n, 5n]],
    [TRANSFER, [WALLET, OTHER], [0n]],
    [TRANSFER, [WALLET, WALLET], [9n]],
    deposited(0n, 0n),
  ]
  expect(decode(events).rows).toEqual([
    ['penalty', 4n, 40n, 1],
    ['withdraw', 5n, 50n, 3],
  ])
})

test('a deposit that made other shares than it says tells no life', () => {
  const events = [deposited(70n, 7n), made(6n)]
  expect(decode(events)).toEqual({ rows: [], unsettled: [TRANSACTION] })
  expect(() => decode(events, events)).toThrow('The check "shares" found that logs are missing in blocks 5 to 5')
})
