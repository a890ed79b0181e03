// Written by `bun run page:types`: do not edit.

/** Bodies of successes by operation: what the pages show of them. */
export interface Answers {
  'GET /v1/lending/aave-v3': {
    data: ({
      chain_id: number
      wallet: string
      positions: ({
        marketId: string
        healthFactor: string
        liquidatable_because: ('health_factor' | 'deleveraging' | 'market_deleveraging' | 'debt_matured' | 'term_ended' | 'obligation_order')[]
        due_at: number | null
        totalCollateralUSD: string
        totalDebtUSD: string
        netWorthUSD: string
        suppliedAssets: ({
          symbol: string
          amountSuppliedUSD: string
          supplyAPY: string
          isCollateral: boolean
          address?: string
          amount?: string
          priceUSD?: string
          liquidationThreshold?: string
          withdrawable?: {
            raw: string
            amount: string | null
            usd: string | null
          } | null
          limited_by?: 'paused' | 'halted' | 'inactive' | 'liquidity' | 'health' | 'premium_threshold' | 'cap' | 'price' | 'hook' | 'gate' | 'cooldown' | 'frozen' | 'revision' | null
        })[]
        borrowedAssets: {
          symbol: string
          amountBorrowedUSD: string
          borrowAPY: string
          address?: string
          amount?: string
          priceUSD?: string
        }[]
        borrowLimitUSD?: string
      })[]
      calculations: {
        targetHealthFactor: number
        healthFactor: string
        dailySupplyInterestUSD: string
        dailyBorrowInterestUSD: string
        netDailyInterestUSD: string
        safeBorrowAmountUSD: string
        safeWithdrawAmountUSD: string
        currentLtvPercentage: string
        netAPY: string
        positionLeverage: string
        weightedSupplyAPY: string
        weightedBorrowAPY: string
        borrowUtilizationRate: string
      }[]
    })[]
    pagination: {
      page: number
      limit: number
      total: number
      next_page: string | null
      prev_page: string | null
    }
    receipt?: {
      payloadType: string
      payload: string
      signatures: {
        keyid: string
        sig: string
      }[]
    }
    request_id: string
  }
  'GET /v1/lending/aave-v3/position/{chain_id}/events': {
    data: ({
      type: 'supply' | 'borrow' | 'withdraw' | 'repay' | 'liquidation'
      blockNumber: number
      logIndex: number
      timestamp: number
      transactionHash: string
      asset: {
        address: string
        symbol: string
        name: string
        decimals: number
        logoURI: null
      }
      amount: string
      amountUSD: string
      priceUSD: string
      counterparty: string
    })[]
    pagination: {
      page: number
      limit: number
      total: number
      next_page: string | null
      prev_page: string | null
    }
    request_id: string
  }
  'GET /v1/lending/aave-v3/position/{chain_id}/snapshots': {
    data: {
      timestamp: number
      collateral_usd: string
      debt_usd: string
      net_worth_usd: string
      health_factor: string
    }[]
    request_id: string
  }
  'GET /v1/lending/kamino': {
    data: ({
      chain_id: number
      wallet: string
      positions: ({
        marketId: string
        marketKnown: boolean
        obligation_address: string
        slot?: string
        marketName: string
        healthFactor: string
        liquidatable_because: ('health_factor' | 'deleveraging' | 'market_deleveraging' | 'debt_matured' | 'term_ended' | 'obligation_order')[]
        due_at: number | null
        totalCollateralUSD: string
        totalDebtUSD: string
        netWorthUSD: string
        suppliedAssets: ({
          symbol: string
          amountSuppliedUSD: string
          supplyAPY: string
          isCollateral: boolean
          withdrawable: {
            raw: string
            amount: string | null
            usd: string | null
          } | null
          limited_by: 'paused' | 'halted' | 'inactive' | 'liquidity' | 'health' | 'premium_threshold' | 'cap' | 'price' | 'hook' | 'gate' | 'cooldown' | 'frozen' | 'revision' | null
          slot_ms: number | null
        })[]
        borrowedAssets: ({
          symbol: string
          amountBorrowedUSD: string
          borrowAPY: string
          slot_ms: number | null
        })[]
      })[]
      calculations: {
        targetHealthFactor: number
        healthFactor: string
        dailySupplyInterestUSD: string
        dailyBorrowInterestUSD: string
        netDailyInterestUSD: string
        safeBorrowAmountUSD: string
        safeWithdrawAmountUSD: string
        currentLtvPercentage: string
        netAPY: string
        positionLeverage: string
        weightedSupplyAPY: string
        weightedBorrowAPY: string
        borrowUtilizationRate: string
      }[]
    })[]
    coverage: {
      complete: boolean
      by: 'program_accounts' | 'derived_addresses'
      markets?: number
    }
    pagination: {
      page: number
      limit: number
      total: number
      next_page: string | null
      prev_page: string | null
    }
    request_id: string
  }
  'GET /v1/lending/kamino/position/{obligation_address}/risk': {
    data: {
      chain_id: number
      wallet: string
      market_address: string
      obligation_address: string
      health_factor: string
      liquidatable_because: ('health_factor' | 'deleveraging' | 'market_deleveraging' | 'debt_matured' | 'term_ended' | 'obligation_order')[]
      due_at: number | null
      target_health_factor: string
      current_ltv_percentage: string
      safe_borrow_amount_usd: string
      safe_withdraw_amount_usd: string
      risk_metrics: {
        maxBorrowCapacityUSD: string
        borrowUtilization: string
        liquidationThreshold: string
        currentLtv: string
      }
    }
  }
  'GET /v1/lending/kamino/position/{obligation_address}/yield': {
    data: {
      chain_id: number
      wallet: string
      market_address: string
      obligation_address: string
      daily_supply_interest_usd: string
      daily_borrow_interest_usd: string
      net_daily_interest_usd: string
      net_apy: string
      position_leverage: string
      weighted_supply_apy: string
      weighted_borrow_apy: string
      projected_earnings: {
        daily: string
        weekly: string
        monthly: string
        yearly: string
      }
      slot_ms: number | null
      incomplete: ({
        what: string
        amount: string | null
        why: string
      })[]
    }
  }
  'GET /v1/lending/morpho-blue': {
    data: ({
      chain_id: number
      wallet: string
      positions: ({
        marketId: string
        collateralSymbol: string | null
        loanSymbol: string
        lltv: string
        oraclePrice: string | null
        healthFactor: string | null
        liquidatable_because: ('health_factor' | 'deleveraging' | 'market_deleveraging' | 'debt_matured' | 'term_ended' | 'obligation_order')[]
        due_at: number | null
        totalCollateralUSD: string | null
        totalDebtUSD: string | null
        netWorthUSD: string | null
        suppliedAssets: ({
          symbol: string
          amount: string | null
          amountSuppliedUSD: string | null
          supplyAPY: string | null
          isCollateral: boolean
          withdrawable: {
            raw: string
            amount: string | null
            usd: string | null
          } | null
          limited_by: 'paused' | 'halted' | 'inactive' | 'liquidity' | 'health' | 'premium_threshold' | 'cap' | 'price' | 'hook' | 'gate' | 'cooldown' | 'frozen' | 'revision' | null
        })[]
        borrowedAssets: ({
          symbol: string
          amount: string | null
          amountBorrowedUSD: string | null
          borrowAPY: string | null
        })[]
        reason: string | null
      })[]
      calculations: ({
        targetHealthFactor: number
        healthFactor: string
        dailySupplyInterestUSD: string
        dailyBorrowInterestUSD: string
        netDailyInterestUSD: string
        safeBorrowAmountUSD: string
        safeWithdrawAmountUSD: string
        currentLtvPercentage: string
        netAPY: string
        positionLeverage: string
        weightedSupplyAPY: string
        weightedBorrowAPY: string
        borrowUtilizationRate: string
      } | null)[]
      incomplete: ({
        what: string
        amount: string | null
        why: string
      })[]
    })[]
    pagination: {
      page: number
      limit: number
      total: number
      next_page: string | null
      prev_page: string | null
    }
    request_id: string
  }
  'GET /v1/names': {
    data: {
      name: string
      wallet: string
    }
    request_id: string
  }
  'GET /v1/portfolio/assets': {
    data: ({
      chain_id: number
      kind: 'wallet' | 'liquidity' | 'supplied' | 'borrowed'
      token: {
        id: string
        symbol: string
        decimals: number | null
        name: string
      }
      amount: {
        raw: string
        amount: string | null
      }
      price_usd: string | null
      price_source: 'feed' | 'aave_oracle' | 'wrapper' | 'stablecoin' | 'pool' | 'market_oracle' | 'scope' | null
      price_confidence: 'oracle' | 'derived' | 'assumed' | 'market' | null
      price_chain_id: number | null
      price_marks: ('thin' | 'young' | 'moved' | 'disputed' | 'one_sided' | 'gone')[]
      value_usd: string | null
      counted: boolean
      reason: 'dust' | 'spam' | 'withdrawal_reverts' | 'unlisted' | 'stale' | 'unpriced' | 'thin' | 'exceeds_liquidity' | null
      detail: string | null
      not_counted: {
        raw: string
        amount: string | null
        usd: string | null
        reason: 'dust' | 'spam' | 'withdrawal_reverts' | 'unlisted' | 'stale' | 'unpriced' | 'thin' | 'exceeds_liquidity'
      } | null
      withdrawable: {
        raw: string
        amount: string | null
        usd: string | null
      } | null
      limited_by: 'paused' | 'halted' | 'inactive' | 'liquidity' | 'health' | 'premium_threshold' | 'cap' | 'price' | 'hook' | 'gate' | 'cooldown' | 'frozen' | 'revision' | null
      incomplete: ({
        what: string
        amount: string | null
        why: string
      })[]
      position: {
        family: string
        [name: string]: unknown
      } | null
      frozen?: true
      frozen_amount?: {
        raw: string
        amount: string | null
      }
      slot?: string
    })[]
  }
  'GET /v1/portfolio/balance': {
    data: {
      wallet: string
      net_worth_usd: string | null
      assets_usd: string
      debt_usd: string
      incomplete: ({
        what: string
        amount: string | null
        why: string
      })[]
      by_kind: {
        wallet_usd: string
        liquidity_usd: string
        supplied_usd: string
        borrowed_usd: string
      }
      by_chain: ({
        chain_id: number
        net_worth_usd: string | null
        assets_usd: string
        debt_usd: string
        incomplete: ({
          what: string
          amount: string | null
          why: string
        })[]
        wallet_usd: string
        liquidity_usd: string
        supplied_usd: string
        borrowed_usd: string
      })[]
      by_confidence: {
        oracle_usd: string
        derived_usd: string
        assumed_usd: string
        market_usd: string
      }
      rows: {
        counted: number
        unpriced: number
        spam: number
        other_reasons: number
      }
      complete: boolean
      unread: {
        chain_id: number
        because: string
      }[]
      coverage: {
        tokens_asked: number
        token_lists: string[]
        families: string[]
        not_read: string[]
        nfts?: number
        found_by?: {
          family: string
          complete: boolean
          by: string
          markets?: number
        }[]
      }
    }
    request_id: string
  }
  'GET /v1/portfolio/exit': {
    data: {
      book_usd: string | null
      arrives_usd: string | null
      blocked_usd: string | null
      walked_away_usd: string
      outside: ({
        token: {
          id: string
          symbol: string
          decimals: number | null
          name: string
        }
        amount: {
          raw: string
          amount: string | null
        }
        from: string | null
      })[]
      rows: ({
        kind: 'wallet' | 'liquidity' | 'supplied' | 'borrowed'
        token: {
          id: string
          symbol: string
          decimals: number | null
          name: string
        }
        position: {
          family: string
          [name: string]: unknown
        } | null
        book: {
          raw: string
          amount: string | null
          usd: string | null
        }
        arrives: {
          raw: string
          amount: string | null
          usd: string | null
        } | null
        blocked_by: 'paused' | 'no_liquidity' | 'hook_forbids' | 'token_refuses' | 'insolvent' | 'unfunded' | 'too_costly' | 'unsupported' | null
        detail: string | null
      })[]
      executed_as: 'own_code' | 'replaced_code' | 'protocol_multicall' | 'simulated' | null
      complete: boolean
      sale?: {
        into: string
        brings: {
          raw: string
          amount: string | null
          usd: string | null
        }
        sold: ({
          token: {
            id: string
            symbol: string
            decimals: number | null
            name: string
          }
          amount: {
            raw: string
            amount: string | null
          }
          brings: {
            raw: string
            amount: string | null
          } | null
          pools: string[]
          price_impact_percentage: string | null
          blocked_by: 'no_pool' | 'no_liquidity' | 'too_little' | 'token_refuses' | 'unfunded' | 'too_costly' | 'unsupported' | null
          detail: string | null
        })[]
        owed: ({
          token: {
            id: string
            symbol: string
            decimals: number | null
            name: string
          }
          amount: {
            raw: string
            amount: string | null
          }
        })[]
      }
    }
    receipt?: {
      payloadType: string
      payload: string
      signatures: {
        keyid: string
        sig: string
      }[]
    }
    request_id: string
  }
  'GET /v1/portfolio/snapshots': {
    data: ({
      timestamp: number
      block_number: number
      net_worth_usd: string | null
      assets_usd: string
      debt_usd: string
      incomplete: ({
        what: string
        amount: string | null
        why: string
      })[]
      wallet_usd: string
      liquidity_usd: string
      supplied_usd: string
      borrowed_usd: string
      unpriced: number
    })[]
    request_id: string
  }
  'GET /v1/positions/orca-whirlpool': {
    data: ({
      rewards?: ({
        token: {
          id: string
          symbol: string
          decimals: number
          name: string
        }
        raw: string
        amount: string
        collectable_raw: string
        after_transfer_fee?: {
          raw: string
          amount: string
        }
        usd: string | null
      })[]
    })[]
  }
  'GET /v1/positions/uniswap-v3': {
    data: ({
      token_id: string
      chain_id: number
      manager_address: string
      wallet: string
      is_active: boolean
      position_state: {
        id: string
        owner: string
        liquidity: string
        tickLower: string
        tickUpper: string
        token0: {
          id: string
          symbol: string
          decimals: number
          name: string
        }
        token1: {
          id: string
          symbol: string
          decimals: number
          name: string
        }
        pool: {
          id: string
          tick: string
          feeTier: string
        }
        chain: {
          id: number
        }
        protocol: {
          code: string
        }
        custodian: {
          address: string
          kind: string
        } | null
      }
      amounts?: {
        token0: {
          raw: string
          amount: string
        }
        token1: {
          raw: string
          amount: string
        }
      }
      uncollected_fees?: {
        token0: {
          raw: string
          amount: string
        }
        token1: {
          raw: string
          amount: string
        }
      } | null
      withdrawn_principal?: {
        token0: {
          raw: string
          amount: string
        }
        token1: {
          raw: string
          amount: string
        }
      } | null
      rewards?: ({
        token: {
          id: string
          symbol: string
          decimals: number
          name: string
        }
        raw: string
        amount: string
        usd: string | null
        penalty: {
          raw: string
          until: number
        } | null
      })[]
      in_range?: boolean
      prices?: {
        current: string
        lower: string
        upper: string
        inverse: {
          current: string
          lower: string
          upper: string
        }
      }
      usd?: {
        token0_price: string | null
        token0_price_source: 'feed' | 'aave_oracle' | 'wrapper' | 'stablecoin' | 'pool' | null
        token0_price_confidence: 'oracle' | 'derived' | 'assumed' | 'market' | null
        token1_price: string | null
        token1_price_source: 'feed' | 'aave_oracle' | 'wrapper' | 'stablecoin' | 'pool' | null
        token1_price_confidence: 'oracle' | 'derived' | 'assumed' | 'market' | null
        amounts: string | null
        uncollected_fees: string | null
        withdrawn_principal: string | null
        total: string | null
      }
      pnl?: {
        token_id: string
        chain_id: number
        pnl_usd_value: string
        pnl_percentage: string
        time_weighted_average_capital: string
        hodl_gross_benchmark_usd_value: string
        alpha_vs_hodl_gross_usd_value: string
        alpha_vs_hodl_gross_percentage: string
        net_impermanent_loss: string
        net_impermanent_loss_percentage: string
        pure_impermanent_loss: string
        pure_impermanent_loss_percentage: string
        market_pnl_usd_value: string
        lp_divergence_pnl_usd_value: string
        realized_usd_value: string
        unrealized_usd_value: string
        is_closed: boolean
      } | null
      pnl_status?: 'ready' | 'pending' | 'unpriced' | 'failed'
    })[]
    pagination: {
      page: number
      limit: number
      total: number
      next_page: string | null
      prev_page: string | null
    }
    counts: {
      totalActive: number
      totalInactive: number
      total: number
      filtered: number
      errors: number
      spams: {
        token_id: string
        chain_id: number
        manager_address: string
        reason: string
      }[]
    }
    receipt?: {
      payloadType: string
      payload: string
      signatures: {
        keyid: string
        sig: string
      }[]
    }
    request_id: string
  }
  'GET /v1/positions/uniswap-v3/{id}/events': {
    data: ({
      type: 'increase' | 'decrease' | 'collect'
      block_number: number
      log_index: number
      timestamp: number
      transaction_hash: string
      liquidity: string
      amounts: {
        token0: {
          raw: string
          amount: string
        }
        token1: {
          raw: string
          amount: string
        }
      }
      principal?: {
        token0: {
          raw: string
          amount: string
        }
        token1: {
          raw: string
          amount: string
        }
      }
      fees?: {
        token0: {
          raw: string
          amount: string
        }
        token1: {
          raw: string
          amount: string
        }
      }
      prices: {
        token0: {
          usd: string
          source: 'feed' | 'aave_oracle' | 'stablecoin' | 'wrapper' | 'pool'
        }
        token1: {
          usd: string
          source: 'feed' | 'aave_oracle' | 'stablecoin' | 'wrapper' | 'pool'
        }
      } | null
      usd_value: string | null
    })[]
    pagination: {
      page: number
      limit: number
      total: number
      next_page: string | null
      prev_page: string | null
    }
    request_id: string
  }
  'GET /v1/positions/uniswap-v3/{id}/pnl': {
    data: {
      token_id: string
      chain_id: number
      pnl_usd_value: string
      pnl_percentage: string
      time_weighted_average_capital: string
      hodl_gross_benchmark_usd_value: string
      alpha_vs_hodl_gross_usd_value: string
      alpha_vs_hodl_gross_percentage: string
      net_impermanent_loss: string
      net_impermanent_loss_percentage: string
      pure_impermanent_loss: string
      pure_impermanent_loss_percentage: string
      market_pnl_usd_value: string
      lp_divergence_pnl_usd_value: string
      realized_usd_value: string
      unrealized_usd_value: string
      is_closed: boolean
    }
  }
  'GET /v1/positions/uniswap-v4': {
    data: ({
      position_state: {
        pool: {
          id: string
          tick: string
          feeTier: string
          isDynamicFee: boolean
          protocolFee: string
          tickSpacing: string
          hooks: {
            address: string
            permissions: ('beforeInitialize' | 'afterInitialize' | 'beforeAddLiquidity' | 'afterAddLiquidity' | 'beforeRemoveLiquidity' | 'afterRemoveLiquidity' | 'beforeSwap' | 'afterSwap' | 'beforeDonate' | 'afterDonate' | 'beforeSwapReturnsDelta' | 'afterSwapReturnsDelta' | 'afterAddLiquidityReturnsDelta' | 'afterRemoveLiquidityReturnsDelta')[]
          } | null
        }
      }
      withdrawable?: {
        token0: {
          raw: string
          amount: string
        }
        token1: {
          raw: string
          amount: string
        }
      } | null
      withdrawable_error?: 'reverts' | 'unsupported' | null
    })[]
  }
  'GET /v1/triggers': {
    data: ({
      id: string
      name: string | null
      chain_id: number
      family: string
      subject: Record<string, string>
      when: {
        figure: string
        below: string
      } | {
        figure: string
        above: string
      } | {
        figure: string
        is: boolean
      } | {
        event: string[]
      }
      clear: string | null
      for_blocks: number
      finality: 'latest' | 'safe' | 'finalized'
      webhook_id: string | null
      state: 'armed' | 'pending' | 'fired' | 'paused' | 'blind' | 'expired'
      paused_for: 'owner' | 'credits' | null
      value: string | null
      changes: number
      since_block: number | null
      expires_at: string | null
      created_at: string
    })[]
    pagination: {
      page: number
      limit: number
      total: number
      next_page: string | null
      prev_page: string | null
    }
    request_id: string
  }
  'GET /v1/triggers/{id}/deliveries': {
    data: ({
      id: string
      type: 'trigger.fired' | 'trigger.cleared' | 'trigger.reverted' | 'trigger.paused' | 'trigger.blind' | 'trigger.sighted' | 'webhook.test'
      change: number | null
      created_at: string
      webhook_id: string | null
      status: 'due' | 'delivered' | 'dead' | 'feed'
      next_try_at: string | null
      tries: ({
        at: string
        status_code: number | null
        failure: string | null
        latency_ms: number
      })[]
    })[]
  }
  'GET /v1/webhooks': {
    data: ({
      id: string
      url: string
      name: string
      public_key: string
      status: 'active' | 'failing' | 'stopped'
      failing_since: string | null
      overlap_until: string | null
      created_at: string
    })[]
    request_id: string
  }
  'POST /v1/webhooks': {
    data: {
      id: string
      url: string
      name: string
      public_key: string
      status: 'active' | 'failing' | 'stopped'
      failing_since: string | null
      overlap_until: string | null
      created_at: string
      secret: string
    }
  }
  'GET /admin/v1/organizations': {
    data: ({
      id: string
      name: string
      rate_limit: number
      trigger_limit: number
      created_at: string
      suspended_at: string | null
      deleted_at: string | null
      balance: string
      granted: string
    })[]
  }
  'GET /admin/v1/organizations/{organization_id}/grants': {
    data: {
      id: string
      credits: string
      reason: string
      granted_at: string
    }[]
  }
  'GET /admin/v1/settings': {
    data: {
      switches: ({
        kind: 'feature' | 'endpoint'
        name: string
        on: boolean
        off_by: 'environment' | 'operator' | null
        off_at: string | null
      })[]
    }
  }
  'GET /admin/v1/audit': {
    data: ({
      id: string
      at: string
      actor: string
      session_id: string | null
      account: string | null
      action: string
      organization_id: string | null
      subject: string
      detail: Record<string, unknown>
    })[]
  }
  'GET /admin/v1/chains': {
    data: ({
      chain_id: number
      name: string
      ready: boolean
      endpoints: ({
        state: 'ready' | 'doubtful' | 'open' | 'removed'
        latency_ms: number | null
        head_block: number | null
        head_age_sec: number | null
        lag_blocks: number | null
        behind: boolean
        errors: number
        state_depth: number | 'all' | null
        busy_ms: number
      })[]
    })[]
  }
  'GET /admin/v1/history': {
    data: ({
      chain_id: number
      contract: string
      stream: string
      subjects: number
      everybody: {
        from_block: number
        to_block: number
      }[]
      anchor_block: number | null
      stopped: boolean
    })[]
  }
  'GET /admin/v1/triggers': {
    data: {
      lines: ({
        chain_id: number
        finality: string
        holder: string | null
        block: number | null
        age_sec: number | null
        blind_since: string | null
      })[]
      messages_due: number
      oldest_due_sec: number
    }
  }
  'POST /admin/v1/login-links': {
    data: {
      path: string
      url: string | null
      organization_id: string | null
      expires_at: string
    }
  }
  'GET /dashboard/v1/organization': {
    data: {
      id: string
      name: string
      rate_limit: number
      trigger_limit: number
      created_at: string
      suspended_at: string | null
      deleted_at: string | null
      balance: string
      granted: string
      burn: {
        day: string
        requests: string
        credits: string
      }[]
      days_left: string | null
    }
  }
  'GET /dashboard/v1/usage': {
    data: {
      from: string
      to: string
      step: 'hour' | 'day'
      by: 'path' | 'key' | 'status' | 'organization'
      rows: {
        at: string
        name: string
        requests: string
      }[]
      is_cut: boolean
    }
  }
  'GET /dashboard/v1/latency': {
    data: {
      path: string
      requests: number
      p50_ms: number
      p90_ms: number
      p99_ms: number
      max_ms: number
    }[]
  }
  'GET /dashboard/v1/logs': {
    data: {
      method: string
      path: string
      status_code: number
      latency_ms: number
      credits_charged: number
      requested_at: string
      api_key_id: string
      api_key_name: string
    }[]
  }
  'GET /dashboard/v1/keys': {
    data: ({
      id: string
      name: string
      last4: string
      created_at: string
      expires_at: string | null
      revoked_at: string | null
      allowed_networks: string[] | null
      allowed_endpoints: string[] | null
      credits_per_day: number | null
    })[]
  }
  'POST /dashboard/v1/keys': {
    data: {
      id: string
      name: string
      last4: string
      created_at: string
      expires_at: string | null
      revoked_at: string | null
      allowed_networks: string[] | null
      allowed_endpoints: string[] | null
      credits_per_day: number | null
      key: string
    }
  }
  'GET /dashboard/v1/dead-letters': {
    data: ({
      trigger_id: string | null
      id: string
      type: 'trigger.fired' | 'trigger.cleared' | 'trigger.reverted' | 'trigger.paused' | 'trigger.blind' | 'trigger.sighted' | 'webhook.test'
      change: number | null
      created_at: string
      webhook_id: string | null
      status: 'due' | 'delivered' | 'dead' | 'feed'
      next_try_at: string | null
      tries: ({
        at: string
        status_code: number | null
        failure: string | null
        latency_ms: number
      })[]
    })[]
  }
}
