import { type AbiEvent, event, indexed, keccak256 } from '@subsquid/evm-abi'
import * as p from '@subsquid/evm-codec'
import { EvmBatchProcessor } from '@subsquid/evm-processor'
import { TypeormDatabase } from '@subsquid/typeorm-store'
import { EntitySchema } from 'typeorm'

/** A row, as all indexers store it. */
class Move {
  id!: string
  wallet!: string
  block!: number
  position!: number
  leg!: number
  kind!: string
  asset!: string
  amount!: bigint
  counterparty!: string
  hash!: string
  time!: number

  /** The store makes some without a row. */
  constructor(row?: Omit<Move, 'id'>) {
    if (row !== undefined) Object.assign(this, { id: `${row.block}:${row.position}:${row.leg}`, ...row })
  }
}

const toText = { from: (value: string) => BigInt(value), to: (value: bigint) => String(value) }

/** The store finds the table in the module that it takes for the model, which is this one. */
export const MoveSchema = new EntitySchema<Move>({
  name: 'Move',
  target: Move as never,
  tableName: 'move',
  columns: {
    id: { type: 'text', primary: true },
    wallet: { type: 'text' },
    block: { type: 'int' },
    position: { type: 'int' },
    leg: { type: 'int' },
    kind: { type: 'text' },
    asset: { type: 'text' },
    amount: { type: 'numeric', transformer: toText },
    counterparty: { type: 'text' },
    hash: { type: 'text' },
    time: { type: 'int' },
  },
})

/** Written from Aave's `IPool`, the five events that say what a wallet did. */
const supply = create('Supply(address,address,address,uint256,uint16)', {
  reserve: indexed(p.address),
  user: p.address,
  onBehalfOf: indexed(p.address),
  amount: p.uint256,
  referralCode: indexed(p.uint16),
})
const withdraw = create('Withdraw(address,address,address,uint256)', {
  reserve: indexed(p.address),
  user: indexed(p.address),
  to: indexed(p.address),
  amount: p.uint256,
})
const borrow = create('Borrow(address,address,address,uint256,uint8,uint256,uint16)', {
  reserve: indexed(p.address),
  user: p.address,
  onBehalfOf: indexed(p.address),
  amount: p.uint256,
  interestRateMode: p.uint8,
  borrowRate: p.uint256,
  referralCode: indexed(p.uint16),
})
const repay = create('Repay(address,address,address,uint256,bool)', {
  reserve: indexed(p.address),
  user: indexed(p.address),
  repayer: indexed(p.address),
  amount: p.uint256,
  useATokens: p.bool,
})
const liquidation = create('LiquidationCall(address,address,address,uint256,uint256,address,bool)', {
  collateralAsset: indexed(p.address),
  debtAsset: indexed(p.address),
  user: indexed(p.address),
  debtToCover: p.uint256,
  liquidatedCollateralAmount: p.uint256,
  liquidator: p.address,
  receiveAToken: p.bool,
})

// biome-ignore lint/suspicious/noExplicitAny: the codec's own types say so
function create<Args extends Record<string, any>>(signature: string, args: Args): AbiEvent<Args> {
  return event(`0x${keccak256(signature).toString('hex')}`, signature, args)
}

const pool = (process.env['BENCH_POOL'] ?? '').toLowerCase()
const topic0 = [supply, withdraw, borrow, repay, liquidation].map(({ topic }) => topic)
const processor = new EvmBatchProcessor()
  .setRpcEndpoint({ url: process.env['BENCH_RPC'] ?? '' })
  .setFinalityConfirmation(Number(process.env['BENCH_FINALITY']))
  .setBlockRange({ from: 1, to: Number(process.env['BENCH_END_BLOCK']) })
  .setFields({ log: { topics: true, data: true, transactionHash: true }, block: { timestamp: true } })
  .addLog({ address: [pool], topic0 })

processor.run(new TypeormDatabase({ supportHotBlocks: false }), async ({ blocks, store }) => {
  const moves: Move[] = []
  for (const { header, logs } of blocks) {
    for (const log of logs) {
      const at = {
        block: header.height,
        position: log.logIndex,
        hash: log.transactionHash,
        time: header.timestamp / 1_000,
        leg: 0,
      }
      const kind = log.topics[0]
      if (kind === supply.topic) {
        const { reserve: asset, user: counterparty, onBehalfOf: wallet, amount } = supply.decode(log)
        moves.push(new Move({ ...at, kind: 'supply', wallet, asset, amount, counterparty }))
      } else if (kind === withdraw.topic) {
        const { reserve: asset, user: wallet, to: counterparty, amount } = withdraw.decode(log)
        moves.push(new Move({ ...at, kind: 'withdraw', wallet, asset, amount, counterparty }))
      } else if (kind === borrow.topic) {
        const { reserve: asset, user: counterparty, onBehalfOf: wallet, amount } = borrow.decode(log)
        moves.push(new Move({ ...at, kind: 'borrow', wallet, asset, amount, counterparty }))
      } else if (kind === repay.topic) {
        const { reserve: asset, user: wallet, repayer: counterparty, amount } = repay.decode(log)
        moves.push(new Move({ ...at, kind: 'repay', wallet, asset, amount, counterparty }))
      } else if (kind === liquidation.topic) {
        const { collateralAsset, debtAsset, user: wallet, liquidator, ...amounts } = liquidation.decode(log)
        const both = { ...at, kind: 'liquidation', wallet, counterparty: liquidator }
        moves.push(
          new Move({ ...both, asset: debtAsset, amount: amounts.debtToCover }),
          new Move({ ...both, leg: 1, asset: collateralAsset, amount: amounts.liquidatedCollateralAmount }),
        )
      }
    }
  }
  await store.insert(moves)
})
