// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {IEnumeratedManager, SlipstreamFactory, SlipstreamPool, SlipstreamStakes} from './slipstream.sol';

interface IReward {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

interface IGaugedPool {
    function burn(int24 tickLower, int24 tickUpper, uint128 liquidity) external;
}

interface IStakableManager is IEnumeratedManager {
    struct CollectParams {
        uint256 tokenId;
        address recipient;
        uint128 amount0Max;
        uint128 amount1Max;
    }

    struct DecreaseLiquidityParams {
        uint256 tokenId;
        uint128 liquidity;
        uint256 amount0Min;
        uint256 amount1Min;
        uint256 deadline;
    }

    function collect(CollectParams calldata params) external;
    function decreaseLiquidity(DecreaseLiquidityParams calldata params) external;
    function transferFrom(address from, address to, uint256 id) external;
}

/// Lists the pools that have a gauge, and pays gauges.
contract SlipstreamVoter {
    address[] public pools;
    mapping(address pool => address) public gauges;

    function length() external view returns (uint256) {
        return pools.length;
    }

    function createGauge(SlipstreamGaugeFactory gaugeFactory, SlipstreamFactory factory, address pool) external {
        require(gauges[pool] == address(0), 'has a gauge');
        address gauge = gaugeFactory.createGauge(factory, pool);
        gauges[pool] = gauge;
        pools.push(pool);
    }

    function setGauge(SlipstreamFactory factory, address pool, address gauge) external returns (address) {
        return factory.setGauge(pool, gauge);
    }

    /// Gives away an amount that it holds, within so many seconds.
    function notifyReward(SlipstreamGauge gauge, uint256 amount, uint256 duration) external {
        IReward(gauge.rewardToken()).transfer(address(gauge), amount);
        gauge.notifyReward(amount, duration);
    }
}

/// Makes gauges, and has the terms on which they pay.
contract SlipstreamGaugeFactory {
    /// Basis points of a reward that is claimed too soon.
    uint256 public penaltyRate;
    mapping(address pool => uint256) public minStakeTimes;
    address private immutable _manager;
    address private immutable _reward;

    constructor(address manager, address reward) {
        (_manager, _reward) = (manager, reward);
    }

    function setPenalty(address pool, uint256 rate, uint256 minStakeTime) external {
        (penaltyRate, minStakeTimes[pool]) = (rate, minStakeTime);
    }

    function createGauge(SlipstreamFactory factory, address pool) external returns (address) {
        SlipstreamVoter voter = SlipstreamVoter(msg.sender);
        SlipstreamGauge gauge = new SlipstreamGauge(pool, _manager, _reward, address(voter));
        gauge.begin(SlipstreamStakes(voter.setGauge(factory, pool, address(gauge))));
        return address(gauge);
    }
}

/// Holds positions of one pool for wallets, and pays them a reward. What is claimed too soon after staking is paid less its
/// penalty, which is the voter's.
contract SlipstreamGauge {
    address public immutable pool;
    address public immutable rewardToken;
    address public immutable voter;
    SlipstreamGaugeFactory public immutable gaugeFactory;
    IStakableManager public immutable nft;
    /// What it holds is the manager's in the pool while its liquidity changes.
    bool public isOpen;
    SlipstreamStakes private _stakes;
    uint256 public rewardRate;
    mapping(uint256 id => uint256) public rewards;
    mapping(uint256 id => uint256) public rewardGrowthInside;
    mapping(uint256 id => uint256) public lastUpdateTime;
    mapping(uint256 id => uint256) public depositTimestamp;
    mapping(address wallet => uint256[]) private _staked;
    /// Place of an id among those of its wallet, from 1.
    mapping(uint256 id => uint256) private _places;

    event Deposit(address indexed user, uint256 indexed tokenId, uint128 indexed liquidityToStake);
    event Withdraw(address indexed user, uint256 indexed tokenId, uint128 indexed liquidityToStake);
    event ClaimRewards(address indexed from, uint256 amount);
    event EarlyWithdrawPenalty(address indexed user, uint256 indexed tokenId, uint256 amount);

    constructor(address pool_, address manager, address reward, address voter_) {
        (pool, rewardToken, voter) = (pool_, reward, voter_);
        (gaugeFactory, nft) = (SlipstreamGaugeFactory(msg.sender), IStakableManager(manager));
    }

    function begin(SlipstreamStakes stakes) external {
        require(msg.sender == address(gaugeFactory), 'not the factory');
        _stakes = stakes;
    }

    function stakedLength(address wallet) external view returns (uint256) {
        return _staked[wallet].length;
    }

    function stakedByIndex(address wallet, uint256 index) external view returns (uint256) {
        return _staked[wallet][index];
    }

    function stakedValues(address wallet) external view returns (uint256[] memory) {
        return _staked[wallet];
    }

    function stakedContains(address wallet, uint256 id) public view returns (bool) {
        uint256 place = _places[id];
        return place != 0 && _staked[wallet].length >= place && _staked[wallet][place - 1] == id;
    }

    function notifyReward(uint256 amount, uint256 duration) external {
        require(msg.sender == voter, 'not the voter');
        _stakes.accumulateReward(uint32(block.timestamp));
        uint256 reserve = _stakes.rewardReserve() + amount;
        rewardRate = reserve / duration;
        _stakes.setReward(rewardRate, reserve);
    }

    function deposit(uint256 id) external {
        require(nft.ownerOf(id) == msg.sender, 'not the owner');
        (int24 tickLower, int24 tickUpper, uint128 liquidity) = readRange(id);
        require(liquidity > 0, 'no liquidity');
        collect(id);
        nft.transferFrom(msg.sender, address(this), id);
        move(tickLower, tickUpper, int128(liquidity));
        _staked[msg.sender].push(id);
        _places[id] = _staked[msg.sender].length;
        rewardGrowthInside[id] = _stakes.getRewardGrowthInside(tickLower, tickUpper);
        (lastUpdateTime[id], depositTimestamp[id]) = (block.timestamp, block.timestamp);
        emit Deposit(msg.sender, id, liquidity);
    }

    function withdraw(uint256 id) external {
        (int24 tickLower, int24 tickUpper, uint128 liquidity) = readRange(id);
        IGaugedPool(pool).burn(tickLower, tickUpper, 0);
        collect(id);
        pay(id);
        move(tickLower, tickUpper, -int128(liquidity));
        forget(id);
        nft.transferFrom(address(this), msg.sender, id);
        emit Withdraw(msg.sender, id, liquidity);
    }

    function getReward(uint256 id) external {
        pay(id);
    }

    /// Takes liquidity from what is staked, and pays it; its reward is counted and not paid. Only the first generation of
    /// gauges has this.
    function decreaseStakedLiquidity(uint256 id, uint128 liquidity, uint256, uint256, uint256) external {
        earned(msg.sender, id);
        (int24 tickLower, int24 tickUpper, uint128 staked) = readRange(id);
        IGaugedPool(pool).burn(tickLower, tickUpper, 0);
        collect(id);
        move(tickLower, tickUpper, -int128(staked));
        isOpen = true;
        nft.decreaseLiquidity(IStakableManager.DecreaseLiquidityParams(id, liquidity, 0, 0, block.timestamp));
        collect(id);
        isOpen = false;
        move(tickLower, tickUpper, int128(staked - liquidity));
    }

    /// Counts the reward until now, and answers it before any penalty. Slipstream's changes nothing.
    function earned(address wallet, uint256 id) public returns (uint256) {
        require(stakedContains(wallet, id), 'not staked');
        (int24 tickLower, int24 tickUpper, uint128 liquidity) = readRange(id);
        _stakes.accumulateReward(uint32(block.timestamp));
        uint256 inside = _stakes.getRewardGrowthInside(tickLower, tickUpper);
        unchecked {
            rewards[id] += ((inside - rewardGrowthInside[id]) * liquidity) >> 128;
        }
        (rewardGrowthInside[id], lastUpdateTime[id]) = (inside, block.timestamp);
        return rewards[id];
    }

    function pay(uint256 id) private {
        uint256 due = earned(msg.sender, id);
        if (due == 0) return;
        delete rewards[id];
        bool isEarly = block.timestamp < depositTimestamp[id] + gaugeFactory.minStakeTimes(pool);
        uint256 penalty = isEarly ? due * gaugeFactory.penaltyRate() / 10_000 : 0;
        if (penalty > 0) {
            IReward(rewardToken).transfer(voter, penalty);
            emit EarlyWithdrawPenalty(msg.sender, id, penalty);
        }
        IReward(rewardToken).transfer(msg.sender, due - penalty);
        emit ClaimRewards(msg.sender, due - penalty);
    }

    function collect(uint256 id) private {
        nft.collect(
            IStakableManager.CollectParams(id, msg.sender, type(uint128).max, type(uint128).max)
        );
    }

    function move(int24 tickLower, int24 tickUpper, int128 delta) private {
        _stakes.accumulateReward(uint32(block.timestamp));
        SlipstreamPool(pool).stake(delta, tickLower, tickUpper);
        _stakes.updatePosition(tickLower, tickUpper, delta);
    }

    function forget(uint256 id) private {
        uint256[] storage ids = _staked[msg.sender];
        uint256 last = ids[ids.length - 1];
        (ids[_places[id] - 1], _places[last]) = (last, _places[id]);
        ids.pop();
        delete _places[id];
    }

    function readRange(uint256 id) private view returns (int24 tickLower, int24 tickUpper, uint128 liquidity) {
        uint256[12] memory w = nft.positions(id);
        return (int24(int256(w[5])), int24(int256(w[6])), uint128(w[7]));
    }
}
