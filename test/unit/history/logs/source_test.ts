import { expect, test } from 'bun:test'
import { RevertError, RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import { LogsRefusedError } from '../../../../src/history/logs/refusal.ts'
import { createLogSource } from '../../../../src/history/logs/source.ts'
import { createWork } from '../../../../src/lib/async/work.ts'

test.each([
  ['a refusal', new RpcRefusedError(-32602, 'The endpoint refused the call (JSON-RPC -32602)')],
  ['a revert', new RevertError('0x')],
])('%s that was not read as one of logs is a refusal in unknown words', async (_, error) => {
  const endpoint = {
    index: 0,
    request: async () => {
      throw error
    },
  }
  const filter = { addresses: null, topics: [null] }
  const reading = createLogSource(endpoint, 1).logs(
    filter,
    { fromBlock: 1, toBlock: 9 },
    createWork(new AbortController().signal),
  )
  const refused = await reading.catch((each: unknown) => each)
  expect(refused).toBeInstanceOf(LogsRefusedError)
  expect(refused).toMatchObject({ reaction: { kind: 'unknown' } })
})
