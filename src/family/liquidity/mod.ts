import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { once } from '../../lib/memoize.ts'
import type { ContractsSetup, FamilySetup, RequiredContract } from '../contract.ts'
import { requireReader } from '../moment.ts'
import { createHoldingsReader } from './holdings.ts'
import type {
  AccountPosition,
  AccountProtocol,
  BriefPosition,
  LiquidityDeployment,
  LiquidityPosition,
  LiquidityProtocol,
} from './protocol.ts'
import { accountRoutes } from './routes/account.ts'
import { listRoute } from './routes/list.ts'
import { positionRoute } from './routes/position.ts'
import { createProtocolHistories, positionHistoryRoutes } from './routes/position_history.ts'
import { createWithdrawnReader, testifyWithdrawn } from './withdrawn.ts'

/**
 * Creates what a family owes the rest out of a protocol: routes, holdings, histories and contracts. `listDeployments`
 * returns the deployments of a chain's setting.
 */
export function serveProtocol<
  Setting,
  Deployment extends LiquidityDeployment,
  Brief extends BriefPosition,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  protocol: LiquidityProtocol<Deployment, Brief, Position, Withdrawal>,
  listDeployments: (setting: Setting) => readonly Deployment[],
) {
  const { createReader } = protocol
  const toDeployments = (settings: ReadonlyMap<number, Setting>) =>
    new Map([...settings].map(([chainId, setting]) => [chainId, listDeployments(setting)] as const))

  return {
    histories({ settings, connect }: FamilySetup<Setting>) {
      const { clock } = connect()
      return [...toDeployments(settings)].flatMap(([chainId, deployments]) =>
        deployments.flatMap((deployment) =>
          protocol.listHistories({ chainId, deployment }, clock).map((each) => ({ chainId, ...each })),
        ),
      )
    },
    contracts({ settings, ...setup }: ContractsSetup & { readonly settings: ReadonlyMap<number, Setting> }) {
      const reader = createReader({ ...setup, deployments: toDeployments(settings) })
      return [...reader.targets.values()].flatMap((target) =>
        target.deployments.map(
          (deployment): RequiredContract => ({
            read: (wallet, work) =>
              reader.readWallet(wallet, { targets: [{ ...target, deployments: [deployment] }], work }),
          }),
        ),
      )
    },
    holdings({ settings, connect }: FamilySetup<Setting>) {
      const services = connect()
      const reader = createReader({ ...services, deployments: toDeployments(settings) })
      const readWithdrawn = testifyWithdrawn(createWithdrawnReader(protocol, services), protocol.name, services)
      return createHoldingsReader(protocol, { reader, readWithdrawn })
    },
    routes({ chainIds, settings, connect }: FamilySetup<Setting>) {
      const reader = once(() => createReader({ ...connect(), deployments: toDeployments(settings) }))
      const histories = once(() => createProtocolHistories(protocol, { ...connect(), reader: reader() }))
      const deployments = [...toDeployments(settings)].filter(([, each]) => each.length > 0)
      const deployedIds = deployments.map(([chainId]) => chainId).sort((a, b) => a - b)
      const options = { chainIds, deployedIds, reader, histories }
      return [
        listRoute(protocol, options),
        positionRoute(protocol, options),
        ...positionHistoryRoutes(protocol, options),
      ]
    },
  }
}

/** The same for a protocol of Solana. Without an endpoint its routes answer `API_ENDPOINT_NOT_CONFIGURED`. */
export function serveAccountProtocol<Setting, Position extends AccountPosition, Absence>(
  protocol: AccountProtocol<Setting, Position, Absence>,
) {
  const createReader = ({ settings, connect }: FamilySetup<Setting>) => {
    const { solana, clock } = connect()
    const setting = settings.get(SOLANA_CHAIN_ID)
    return solana === undefined || setting === undefined ? undefined : protocol.createReader({ solana, clock }, setting)
  }
  return {
    accountHoldings: (setup: FamilySetup<Setting>) => createReader(setup)?.holdings,
    routes: (setup: FamilySetup<Setting>) =>
      accountRoutes(
        protocol,
        once(() => requireReader(createReader(setup), protocol.words.exchange)),
      ),
  }
}
