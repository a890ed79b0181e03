// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {CustodiedPositions} from '../../liquidity/enumerable/custodied.sol';
import {PriceSources} from '../../../finance/price/prices.sol';

interface IFactory {
    function getPool(address, address, int24) external view returns (address);
}

interface IPool {
    function factory() external view returns (address);
    function fee() external view returns (uint24);
    function unstakedFee() external view returns (uint24);
    function gauge() external view returns (address);
    function ticks(int24) external view;
    function rewardGrowthGlobalX128() external view returns (uint256);
    function rewardReserve() external view returns (uint256);
    function stakedLiquidity() external view returns (uint128);
    function lastUpdated() external view returns (uint32);
}

interface IGauge {
    function stakedLength(address) external view returns (uint256);
    function stakedByIndex(address, uint256) external view returns (uint256);
    function stakedContains(address, uint256) external view returns (bool);
    function rewardRate() external view returns (uint256);
    function rewardToken() external view returns (address);
    function rewardGrowthInside(uint256) external view returns (uint256);
    function rewards(uint256) external view returns (uint256);
    function lastUpdateTime(uint256) external view returns (uint256);
    function depositTimestamp(uint256) external view returns (uint256);
    function gaugeFactory() external view returns (address);
}

interface IGaugeFactory {
    function penaltyRate() external view returns (uint256);
    function minStakeTimes(address) external view returns (uint256);
}

interface IVoter {
    function length() external view returns (uint256);
    function pools(uint256) external view returns (address);
    function gauges(address) external view returns (address);
}

/// Reads positions of Slipstream, whose pools are named by their tick spacing, those among them that are staked in the
/// gauge of their pool. A voter has the list of pools with a gauge; it only grows, and the gauge of a pool never changes.
contract Lens is CustodiedPositions {
    /// What one entry of a voter can burn, if a contract in it is hostile.
    uint256 private constant ENTRY_GAS = 2_000_000;
    /// Words of a reward.
    uint256 private constant WORDS = 14;
    /// Where a word is written that no pool answers.
    uint256 private constant UNKNOWN = type(uint256).max;

    /// A voter whose first `known` entries are known, the last of them `last`; at most `max` more are read.
    struct Registry {
        address target;
        uint256 known;
        address last;
        uint256 max;
    }

    function poolSelector() internal pure override returns (bytes4) {
        return IFactory.getPool.selector;
    }

    /// Behind liquidity, net and staked.
    function outsideWord() internal pure override returns (uint256) {
        return 3;
    }

    function heldCount() internal pure override returns (bytes4) {
        return IGauge.stakedLength.selector;
    }

    function heldItem() internal pure override returns (bytes4) {
        return IGauge.stakedByIndex.selector;
    }

    function creditedTo(
        Page memory page,
        address gauge,
        uint256 id,
        address wallet
    ) internal view override returns (address) {
        argument(page, 0, uint160(wallet));
        argument(page, 1, id);
        bool ok = wallet != address(0) && askMany(page, gauge, IGauge.stakedContains.selector, 2, 32);
        return ok && word(page.answer) == 1 ? wallet : address(0);
    }

    /// `list` of `EnumerablePositions`, and what of these voters is not known.
    function list(
        address wallet,
        Deployments calldata deployments,
        PriceSources calldata prices,
        uint256 offset,
        uint256 count,
        uint256 bytesMax,
        uint256 firstMax,
        Registry[] calldata registries
    ) external view {
        (Page memory page, Seen memory seen) = openWith(registries);
        entries(page, seen, wallet, deployments, prices, offset, count, bytesMax, firstMax);
    }

    /// Keeps where the voters stand in the call data.
    function openWith(Registry[] calldata registries) private pure returns (Page memory page, Seen memory seen) {
        (page, seen) = open();
        uint256 asked;
        assembly ("memory-safe") {
            asked := or(shl(128, registries.length), registries.offset)
        }
        seen.asked = asked;
    }

    function preface(Page memory page, Seen memory seen, Deployments calldata deployments) internal view override {
        Registry[] calldata registries;
        uint256 asked = seen.asked;
        assembly ("memory-safe") {
            registries.offset := and(asked, sub(shl(128, 1), 1))
            registries.length := shr(128, asked)
        }
        for (uint256 i = 0; i < registries.length; i++) {
            findGauges(page, deployments, i, registries[i]);
        }
    }

    /// Writes the gauges of these factories that the voter has beyond those that are known. A voter that does not tell
    /// how many pools it has ends where it does not answer.
    function findGauges(
        Page memory page,
        Deployments calldata deployments,
        uint256 index,
        Registry calldata registry
    ) private view {
        address voter = registry.target;
        uint256 at = registry.known;
        address last = registry.last;
        uint256 same = 1;
        if (at > 0) {
            if (!ask1(page, voter, IVoter.pools.selector, at - 1, 32)) same = 2;
            else if (address(uint160(word(page.answer))) != last) same = 0;
        }
        uint256 length = ask(page, voter, IVoter.length.selector, 32) ? word(page.answer) : UNKNOWN;
        uint256 state = voter.code.length == 0 ? 3 : 1;
        while (state == 1 && at < length) {
            if (at - registry.known >= registry.max || gasleft() < ENTRY_GAS) {
                state = 2;
            } else if (ask1(page, voter, IVoter.pools.selector, at, 32)) {
                last = address(uint160(word(page.answer)));
                if (!findGauge(page, deployments, index, at, voter, last)) {
                    state = 0;
                    break;
                }
                at++;
            } else if (length == UNKNOWN) {
                break;
            } else {
                state = 0;
            }
        }
        put(page, 10, 1);
        put(page, index, 1);
        put(page, state, 1);
        put(page, same, 1);
        put(page, at, 4);
        put(page, uint160(last), 20);
    }

    /// Writes the gauge of a pool of these factories, 0 if it has none yet; false if the voter does not tell.
    function findGauge(
        Page memory page,
        Deployments calldata deployments,
        uint256 index,
        uint256 number,
        address voter,
        address pool
    ) private view returns (bool) {
        if (!ask(page, pool, IPool.factory.selector, 32)) return true;
        address factory = address(uint160(word(page.answer)));
        for (uint256 row = 0; row < deployments.managers.length; row++) {
            if (deployments.factories[row] != factory || managerRow(deployments, row) != row) continue;
            if (!ask1(page, voter, IVoter.gauges.selector, uint160(pool), 32)) return false;
            uint256 gauge = word(page.answer);
            put(page, 9, 1);
            put(page, index, 1);
            put(page, number, 4);
            put(page, gauge, 20);
            put(page, row, 2);
        }
        return true;
    }

    /// Only the gauge of its pool is a custodian of an id. Who staked it is not in the gauge's state by id: the owner is 0.
    /// The row that stands for all gauges of a manager follows the managers.
    function findHolder(
        Page memory page,
        Seen memory seen,
        Deployments calldata deployments,
        uint256 row,
        uint256,
        address owner
    ) internal view override returns (uint256, address) {
        uint256 keeper = row + 1;
        while (keeper < deployments.managers.length && managerRow(deployments, keeper) != row) keeper++;
        if (keeper == deployments.managers.length) return (row, owner);
        for (uint256 i = 0; i < 3; i++) {
            argument(page, i, word(seen.state + 64 + i * 32));
        }
        if (!askMany(page, deployments.factories[row], poolSelector(), 3, 32)) return (row, owner);
        address pool = address(uint160(word(page.answer)));
        bool isStaked = ask(page, pool, IPool.gauge.selector, 32) && address(uint160(word(page.answer))) == owner;
        return isStaked ? (keeper, address(0)) : (row, owner);
    }

    /// Words: fee in force and part of it that liquidity gives up that is not staked, pips, all ones where the pool does
    /// not answer; gauge, 0 without one.
    function extra(Page memory page, address pool) internal view override {
        putWords(page, 3);
        put(page, ask(page, pool, IPool.fee.selector, 32) ? word(page.answer) : UNKNOWN, 32);
        put(page, ask(page, pool, IPool.unstakedFee.selector, 32) ? word(page.answer) : UNKNOWN, 32);
        put(page, ask(page, pool, IPool.gauge.selector, 32) ? word(page.answer) : 0, 32);
    }

    /// Words: now, when the pool's growth was updated, reward a second, what is left of it, staked liquidity in range,
    /// growth, growth outside the lower and the upper tick, growth inside up to which it is counted, what is counted,
    /// penalty in basis points and until when, gauge, since when it is staked or counted.
    function rewards(
        Page memory page,
        Seen memory seen,
        PriceSources calldata prices,
        address,
        address pool,
        uint256 id
    ) internal view override returns (bool ok) {
        uint256 answer = page.answer;
        ok = keep(page, answer + 12 * 32, pool, IPool.gauge.selector);
        address gauge = address(uint160(word(answer + 12 * 32)));
        set(answer, block.timestamp);
        ok = ok && keep(page, answer + 32, pool, IPool.lastUpdated.selector)
            && keep(page, answer + 64, gauge, IGauge.rewardRate.selector)
            && keep(page, answer + 96, pool, IPool.rewardReserve.selector)
            && keep(page, answer + 128, pool, IPool.stakedLiquidity.selector)
            && keep(page, answer + 160, pool, IPool.rewardGrowthGlobalX128.selector)
            && keepTick(page, answer + 192, pool, word(seen.state + 160))
            && keepTick(page, answer + 224, pool, word(seen.state + 192))
            && keep1(page, answer + 256, gauge, IGauge.rewardGrowthInside.selector, id)
            && keep1(page, answer + 288, gauge, IGauge.rewards.selector, id)
            && keepPenalty(page, answer + 320, gauge, pool, id)
            && keep(page, answer + WORDS * 32, gauge, IGauge.rewardToken.selector);
        if (ok) {
            address token = address(uint160(word(answer + WORDS * 32)));
            page.answer = answer + WORDS * 32;
            set(answer + 12 * 32, uint160(gauge));
            putReward(page, tokenOf(page, seen.numbers, prices, token), WORDS);
            for (uint256 i = 0; i < WORDS; i++) {
                put(page, word(answer + i * 32), 32);
            }
        }
        page.answer = answer;
    }

    /// Writes penalty, its end and since when. Only younger generations of gauges have a penalty: the others do not say
    /// when a position was staked, but when its reward was last counted.
    function keepPenalty(
        Page memory page,
        uint256 place,
        address gauge,
        address pool,
        uint256 id
    ) private view returns (bool) {
        set(place, 0);
        set(place + 32, 0);
        if (!keep1(page, place + 96, gauge, IGauge.depositTimestamp.selector, id)) {
            return keep1(page, place + 96, gauge, IGauge.lastUpdateTime.selector, id);
        }
        page.answer = place + 128;
        if (!ask(page, gauge, IGauge.gaugeFactory.selector, 32)) return false;
        address factory = address(uint160(word(page.answer)));
        // The generation before has the time and no penalty.
        if (!keep(page, place, factory, IGaugeFactory.penaltyRate.selector)) {
            set(place, 0);
            return true;
        }
        if (!keep1(page, place + 32, factory, IGaugeFactory.minStakeTimes.selector, uint160(pool))) return false;
        unchecked {
            set(place + 32, word(place + 32) + word(place + 96));
        }
        return true;
    }

    /// Keeps the word that a contract answers at a place.
    function keep(Page memory page, uint256 place, address target, bytes4 selector) private view returns (bool) {
        page.answer = place;
        return ask(page, target, selector, 32);
    }

    /// The same with an argument.
    function keep1(
        Page memory page,
        uint256 place,
        address target,
        bytes4 selector,
        uint256 a
    ) private view returns (bool) {
        page.answer = place;
        return ask1(page, target, selector, a, 32);
    }

    /// Keeps the growth of rewards outside a tick.
    function keepTick(Page memory page, uint256 place, address pool, uint256 tick) private view returns (bool ok) {
        page.answer = place;
        ok = ask1(page, pool, IPool.ticks.selector, tick, 192);
        set(place, word(place + 160));
    }
}
