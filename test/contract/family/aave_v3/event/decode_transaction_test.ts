import { expect, test } from 'bun:test'
import { encodeAbiParameters, encodeEventTopics, type Hex, parseAbi, zeroAddress } from 'viem'
import { checkBalances } from '../../../../../src/family/aave_v3/event/balance.ts'
import { decodeLogs } from '../../../../../src/family/aave_v3/event/decode.ts'
import type { LendingTarget } from '../../../../../src/family/aave_v3/event/log.ts'
import type { HistoryLog } from '../../../../../src/history/stream.ts'
import { shown } from '../../../../support/family/aave_v3/event/support.ts'

const ABI = parseAbi([
  'event Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 indexed referralCode)',
  'event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount)',
  'event LiquidationCall(address indexed collateralAsset, address indexed debtAsset, address indexed user, uint256 debtToCover, uint256 liquidatedCollateralAmount, address liquidator, bool receiveAToken)',
  'event MintUnbacked(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 indexed referralCode)',
  'event Mint(address indexed caller, address indexed onBehalfOf, uint256 value, uint256 balanceIncrease, uint256 index)',
  'event Burn(address indexed from, address indexed target, uint256 value, uint256 balanceIncrease, uint256 index)',
  'event BalanceTransfer(address indexed from, address indexed to, uint256 value, uint256 index)',
])
const RAY = 10n ** 27n
const address = (digit: string): Hex => `0x${digit.repeat(40)}`
const [POOL, ASSET, A_TOKEN, DEBT_TOKEN] = [address('1'), address('2'), address('3'), address('4')]
const [ALICE, BOB, ADAPTER, ROUTER] = [address('a'), address('b'), address('c'), address('d')]
const PLACE: LendingTarget = {
  chainId: 1,
  contract: POOL,
  startBlock: 0,
  tokens: new Map([
    [A_TOKEN, { asset: ASSET, side: 'supply' }],
    [DEBT_TOKEN, { asset: ASSET, side: 'variable_debt' }],
  ]),
}

type Part = readonly [contract: Hex, name: string, ...args: readonly unknown[]]

/** Logs of transactions, each a list of events; one block a day each. */
function createLogs(...transactions: readonly (readonly Part[])[]): HistoryLog[] {
  return transactions.flatMap((parts, block) =>
    parts.map(([contract, eventName, ...args], logIndex): HistoryLog => {
      const event = ABI.find(({ name }) => name === eventName)
      if (event === undefined) throw new Error(`There is no event ${eventName}`)
      const named = Object.fromEntries(event.inputs.map(({ name }, index) => [name, args[index]]))
      const plain = event.inputs.filter((input) => !('indexed' in input))
      return {
        address: contract,
        blockNumber: block + 1,
        logIndex,
        transactionIndex: 0,
        timestampSec: 1_700_000_000 + 86_400 * block,
        topics: encodeEventTopics({ abi: ABI, eventName, args: named } as never) as Hex[],
        data: encodeAbiParameters(plain, plain.map(({ name }) => named[name ?? '']) as never),
        blockHash: `0x${'0'.repeat(63)}${block + 1}`,
        transactionHash: `0x${'0'.repeat(63)}${block + 1}`,
      }
    }),
  )
}

const decodeAll = (logs: readonly HistoryLog[]) => decodeLogs(PLACE, logs, { subjects: null, receipts: new Map() })

const moved = (from: Hex, to: Hex, value: bigint, index = RAY): Part => [
  A_TOKEN,
  'BalanceTransfer',
  from,
  to,
  value,
  index,
]
const withdrawn = (by: Hex, amount: bigint, index = RAY): readonly Part[] => [
  [A_TOKEN, 'Burn', by, by, amount, 0n, index],
  [POOL, 'Withdraw', ASSET, by, by, amount],
]
const supplied = (wallet: Hex, amount: bigint, { index = RAY, interest = 0n } = {}): readonly Part[] => [
  [A_TOKEN, 'Mint', wallet, wallet, amount + interest, interest, index],
  [POOL, 'Supply', ASSET, wallet, wallet, amount, 0],
]

function owners(...parts: readonly Part[]): string[] {
  return shown(decodeAll(createLogs(parts)).rows).map(
    ({ wallet, kind, amount }) => `${kind} ${wallet.slice(2, 3)} ${amount}`,
  )
}

test("one withdrawal of two wallets' aTokens is divided between them", () => {
  expect(owners(moved(ALICE, ADAPTER, 70n), moved(BOB, ADAPTER, 30n), ...withdrawn(ADAPTER, 100n))).toEqual([
    'withdraw a 70',
    'withdraw b 30',
  ])
})

test('aTokens that pass through a second contract still belong to the wallet', () => {
  expect(owners(moved(ALICE, ROUTER, 500n), moved(ROUTER, ADAPTER, 500n), ...withdrawn(ADAPTER, 500n))).toEqual([
    'withdraw a 500',
  ])
})

test('a contract that withdraws another amount than it received withdraws its own supply', () => {
  expect(owners(moved(ALICE, ADAPTER, 500n), ...withdrawn(ADAPTER, 9_000n))).toEqual(['withdraw c 9000'])
})

test("aTokens returned earlier are the wallet's own supply again", () => {
  const there = [moved(ALICE, ADAPTER, 500n), moved(ADAPTER, ALICE, 500n)]
  expect(owners(...there, ...withdrawn(ALICE, 500n), ...withdrawn(ADAPTER, 500n))).toEqual([
    'withdraw a 500',
    'withdraw c 500',
  ])
})

test('aTokens returned in the same transaction leave the own withdrawal whole, with the index of its token', () => {
  const there = [moved(ALICE, ADAPTER, 500n), moved(ADAPTER, ALICE, 500n), moved(BOB, ALICE, 30n)]
  expect(owners(...there, ...withdrawn(ALICE, 530n))).toEqual(['withdraw a 530'])
  const { rows } = decodeAll(createLogs([...there.slice(0, 2), ...withdrawn(ALICE, 500n)]))
  expect(shown(rows).map(({ indexRay }) => indexRay)).toEqual([RAY])
})

test('aTokens that a liquidator takes and withdraws at once are no withdrawal of the wallet', () => {
  const liquidated: readonly Part[] = [
    [DEBT_TOKEN, 'Burn', ALICE, zeroAddress, 90n, 0n, RAY],
    moved(ALICE, BOB, 100n),
    moved(ALICE, ADAPTER, 7n),
    [POOL, 'LiquidationCall', ASSET, ASSET, ALICE, 90n, 100n, BOB, true],
  ]
  expect(owners(...liquidated, ...withdrawn(BOB, 100n), ...withdrawn(ADAPTER, 7n))).toEqual([
    'liquidation a 90',
    'liquidation a 100',
    'withdraw b 100',
    'withdraw c 7',
  ])
})

test('transfers of the contracts before 3.0.1, whose value is not scaled, are matched as well', () => {
  const index = (RAY * 13n) / 10n
  expect(owners(moved(ALICE, ADAPTER, 13_000n, index), ...withdrawn(ADAPTER, 13_000n, index))).toEqual([
    'withdraw a 13000',
  ])
  expect(owners(moved(ALICE, ADAPTER, 10_000n, index), ...withdrawn(ADAPTER, 13_000n, index))).toEqual([
    'withdraw a 13000',
  ])
})

test('supply tokens that a bridge made without a supply need a receipt, and then make no event', () => {
  const minted: Part = [A_TOKEN, 'Mint', ALICE, ALICE, 800n, 0n, RAY]
  const logs = createLogs([minted, [POOL, 'MintUnbacked', ASSET, ALICE, ALICE, 800n, 0]])
  const [first] = logs as [HistoryLog]
  expect(decodeAll(logs)).toEqual({ rows: [], unsettled: [first.transactionHash] })
  const receipts = new Map([[first.transactionHash, logs]])
  const { rows, unsettled } = decodeLogs(PLACE, logs, { subjects: null, receipts })
  expect([shown(rows), unsettled, rows.map(({ kind }) => kind)]).toEqual([[], [], ['raise_supply']])
})

test('a log with the topic of an event but not its shape is refused', () => {
  const [mint, supply] = createLogs(supplied(ALICE, 5n)) as [HistoryLog, HistoryLog]
  expect(() => decodeAll([mint, { ...supply, data: '0x' }])).toThrow('does not have the shape of supply')
})

const TENTH = RAY / 10n
const DAYS = [
  supplied(ALICE, 1_000_000n),
  supplied(ALICE, 500_000n, { index: RAY + TENTH, interest: 100_000n }),
  supplied(ALICE, 1n, { index: RAY + 2n * TENTH, interest: 145_454n }),
]

test('interest that the balance before cannot have earned shows that a log is missing between', () => {
  expect(decodeAll(createLogs(...DAYS)).rows).toHaveLength(3)
  const lost = createLogs(...DAYS).filter(({ blockNumber }) => blockNumber !== 2)
  // 145,454 over two tenths is what 727,270 scaled units earn, and there were a million.
  expect(() => decodeAll(lost)).toThrow('The check "state" found that logs are missing in blocks 1 to 3')
})

test('movements that do not add up to the balance, or end at another index, show that a log is missing', () => {
  const { rows } = decodeAll(createLogs(...DAYS))
  const check = (scaled: bigint, indexRay: bigint, of = rows) =>
    checkBalances(PLACE, of, { balances: [{ token: A_TOKEN, scaled, indexRay }], toBlock: 9 })
  const last = RAY + 2n * TENTH
  check(1_454_545n, last)
  expect(() => check(1_454_645n, last)).toThrow('The check "state" found that logs are missing in blocks 3 to 9')
  expect(() => check(1_454_545n, RAY + TENTH)).toThrow('blocks 3 to 9')
  expect(() => check(1_454_545n, last, [])).toThrow('blocks 0 to 9')
  expect(() => check(0n, last, [])).toThrow('blocks 0 to 9')
  check(0n, 0n, [])
})

test('minted and burned amounts do not become rows of the zero address', () => {
  expect(decodeAll(createLogs(supplied(ALICE, 9n))).rows.some(({ wallet }) => wallet === zeroAddress)).toBe(false)
})
