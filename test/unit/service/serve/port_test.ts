import { expect, test } from 'bun:test'
import { serveBun } from '../../../../src/http/server/bun.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { claimPort } from '../../../../src/service/serve/serve.ts'

/** A port that is free at this moment. */
async function findFreePort(): Promise<number> {
  const handler = () => new Response()
  const server = await serveBun({ handler }, { host: '127.0.0.1', port: 0 })
  await server.stop()
  return server.port
}

test.skipIf(process.platform !== 'linux')('a port has one claim at a time, before and while it is open', async () => {
  const address = { listen: serveBun, name: 'PORT', host: '127.0.0.1', port: await findFreePort(), clock: systemClock }
  const release = await claimPort(address)
  // Nothing listens yet: the first service still makes its database.
  await expect(claimPort(address)).rejects.toThrow(
    `Cannot listen on HOST 127.0.0.1 PORT ${address.port}: another service is starting there`,
  )
  release()
  const releaseAgain = await claimPort(address)
  releaseAgain()
  const other = await serveBun({ handler: () => new Response() }, { ...address, shared: false })
  await expect(claimPort(address)).rejects.toThrow('another program uses it')
  await other.stop()
  // The failed claim holds no name.
  ;(await claimPort(address))()
})
