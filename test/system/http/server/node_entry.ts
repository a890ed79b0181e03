import { serveNode } from '../../../../src/http/server/node.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { createFixture } from '../../../support/http/fixture.ts'

const STEP_MS = 50

/** The fixture's app on Node; the differential test bundles this file and reads the port from its first line. */
const { app, clock } = createFixture()
// The app's clock goes on like the machine's, so that metrics are rendered anew.
setInterval(() => void clock.advance(STEP_MS), STEP_MS).unref()
const served = await serveNode(app, { port: 0, host: '127.0.0.1', clock: systemClock })
process.stdout.write(`${served.port}\n`)
process.on('SIGTERM', () => {
  served.stop().then(() => process.exit(0))
})
