import { serveNode } from '../../../../src/http/server/node.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { createFixture } from '../../../support/http/fixture.ts'

/** The fixture's app on Node; the differential test bundles this file and reads the port from its first line. */
const { app } = createFixture()
const served = await serveNode(app, { port: 0, host: '127.0.0.1', clock: systemClock })
process.stdout.write(`${served.port}\n`)
process.on('SIGTERM', () => {
  served.stop().then(() => process.exit(0))
})
