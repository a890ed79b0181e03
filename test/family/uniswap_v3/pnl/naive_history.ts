import { readLatestBlock } from '../../../../src/chain/read_block.ts'
import type { ChainClient } from '../../../../src/chain/rpc/client.ts'
import type { Database } from '../../../../src/db/database.ts'
import { createLogSource } from '../../../../src/history/logs/source.ts'
import type { History } from '../../../../src/history/stream.ts'
export function naiveHistory(client: ChainClient, db: Database, tailBlocks = 10): History {
  return {
    async ensure({ stream, place, subject, startBlock = place.startBlock }, signal) {
      const block = await client.read((e, s) => readLatestBlock(e, client.chain.id, s), { signal })
      const all = await client.read(
        async (e, s) =>
          (
            await Promise.all(
              stream
                .filters(place, [subject])
                .map((f) =>
                  createLogSource(e, client.chain.id).logs(
                    f,
                    { fromBlock: startBlock, toBlock: Number(block.number) },
                    s,
                  ),
                ),
            )
          ).flat(),
        { signal },
      )
      const { rows } = stream.decode(place, all, { subjects: [subject], receipts: new Map() })
      const storedTo = Math.max(startBlock, Number(block.number) - tailBlocks)
      const stored = rows.filter((r) => stream.table.blockOf(r) <= storedTo)
      await stream.table.store(db, {
        place,
        stream: stream.name,
        subjects: [subject],
        fromBlock: startBlock,
        toBlock: storedTo,
        witnesses: 1,
        rows: stored,
      } as never)
      return { storedTo, tail: rows.filter((r) => stream.table.blockOf(r) > storedTo), block }
    },
  }
}
